#include "engine/model/layer_program_builder.h"

#include "engine/gguf/gguf_types.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <unordered_map>

namespace tokenscope {
namespace {

using kernels::LayerProgram;
using kernels::LayerSpec;
using kernels::TensorView;

// Stands for the data of a tensor while nothing is mapped, so that a view still says that the model has it.
constexpr std::byte kNotMapped{};

enum class Need { Required, Optional };

class Builder {
public:
    Builder(const GgufFile& file, const GgufMapping* mapping, const Architecture& architecture, HyperParameters model)
        : m_file(file), m_mapping(mapping), m_architecture(architecture), m_model(std::move(model)),
          m_fileName(file.path.filename().string())
    {
        for (const GgufTensor& tensor : file.tensors)
            m_unused.emplace(tensor.name, &tensor);
    }

    Result<LayerProgram> build()
    {
        LayerProgram program;
        setProperties(program);
        program.tokenEmbedding = matrix("token_embd.weight", m_model.embedding, m_model.vocabulary);
        program.outputNorm = vector("output_norm.weight", m_model.embedding);
        program.head = matrix("output.weight", m_model.embedding, m_model.vocabulary, Need::Optional);
        program.tiedHead = !program.head;
        if (program.tiedHead)
            program.head = program.tokenEmbedding;
        readRopeDivisors();
        for (int layer = 0; layer < m_model.layers && !m_error; ++layer)
            program.layers.push_back(buildLayer(layer));
        if (!m_error)
            refuseUnused();
        if (m_error)
            return tl::unexpected(*m_error);
        return program;
    }

private:
    template <typename... Args>
    void refuse(ErrorCode code, fmt::format_string<const Args&...> form, const Args&... args)
    {
        if (m_error)
            return;
        m_error = Error{code, m_fileName + ": " + fmt::format(form, args...), {fmt::format("{}", args)...}};
    }

    void setProperties(LayerProgram& program) const
    {
        program.embedding = m_model.embedding;
        program.feedForward = m_model.feedForward;
        program.heads = m_model.heads;
        program.kvHeads = m_model.kvHeads;
        program.headDimK = m_model.headDimK;
        program.headDimV = m_model.headDimV;
        program.vocabulary = m_model.vocabulary;
        program.normEpsilon = static_cast<float>(m_model.normEpsilon);
        const bool modelWide =
            m_architecture.modelWideScaleLayers > 0 && m_model.layers == m_architecture.modelWideScaleLayers;
        const double scaled = modelWide ? static_cast<double>(m_model.embedding) / m_model.heads : m_model.headDimK;
        program.attentionScale = static_cast<float>(1.0 / std::sqrt(scaled));
        program.attentionSoftcap = static_cast<float>(m_model.attentionSoftcap);
        program.finalSoftcap = static_cast<float>(m_model.finalSoftcap);
        if (m_architecture.scaledEmbedding)
            program.embeddingScale = std::sqrt(static_cast<float>(m_model.embedding));
        program.activation = m_architecture.activation;
    }

    LayerSpec buildLayer(int layer)
    {
        const std::string prefix = fmt::format("blk.{}.", layer);
        const int queries = m_model.heads * m_model.headDimK;
        const int keys = m_model.kvHeads * m_model.headDimK;
        const int values = m_model.kvHeads * m_model.headDimV;
        LayerSpec spec;
        spec.attnNorm = vector(prefix + "attn_norm.weight", m_model.embedding);
        spec.q = matrix(prefix + "attn_q.weight", m_model.embedding, queries);
        spec.k = matrix(prefix + "attn_k.weight", m_model.embedding, keys);
        spec.v = matrix(prefix + "attn_v.weight", m_model.embedding, values);
        if (m_architecture.optionalBiases) {
            spec.qBias = vector(prefix + "attn_q.bias", queries, Need::Optional);
            spec.kBias = vector(prefix + "attn_k.bias", keys, Need::Optional);
            spec.vBias = vector(prefix + "attn_v.bias", values, Need::Optional);
        }
        if (m_architecture.headNorms) {
            spec.qNorm = vector(prefix + "attn_q_norm.weight", m_model.headDimK);
            spec.kNorm = vector(prefix + "attn_k_norm.weight", m_model.headDimK);
        }
        spec.attnOutput = matrix(prefix + "attn_output.weight", m_model.heads * m_model.headDimV, m_model.embedding);
        spec.ffnNorm = vector(prefix + "ffn_norm.weight", m_model.embedding);
        spec.gate = matrix(prefix + "ffn_gate.weight", m_model.embedding, m_model.feedForward);
        spec.up = matrix(prefix + "ffn_up.weight", m_model.embedding, m_model.feedForward);
        spec.down = matrix(prefix + "ffn_down.weight", m_model.feedForward, m_model.embedding);
        if (m_architecture.postNorms) {
            spec.postAttnNorm = vector(prefix + "post_attention_norm.weight", m_model.embedding);
            spec.postFfnNorm = vector(prefix + "post_ffw_norm.weight", m_model.embedding);
        }
        m_unused.erase(prefix + "attn_rot_embd.weight");  // angles that old converters stored; they are computed here
        spec.window = m_model.windows[static_cast<std::size_t>(layer)];
        spec.rope = ropeOf(spec.window > 0);
        return spec;
    }

    kernels::RopeSpec ropeOf(bool local) const
    {
        kernels::RopeSpec rope;
        rope.pairing = m_architecture.pairing;
        rope.dims = m_model.ropeDims;
        rope.base = static_cast<float>(local ? m_model.localRopeBase : m_model.ropeBase);
        rope.scale = local ? 1.0f : static_cast<float>(m_model.ropeScale);
        rope.divisors = m_ropeDivisors;
        return rope;
    }

    void readRopeDivisors()
    {
        if (!m_architecture.ropeFactors || m_model.ropeDims == 0)
            return;
        const TensorView view = vector("rope_freqs.weight", m_model.ropeDims / 2, Need::Optional);
        if (!view || !m_mapping || m_error)
            return;
        m_ropeDivisors.resize(static_cast<std::size_t>(view.cols));
        std::memcpy(m_ropeDivisors.data(), view.data, view.bytes());
        for (std::size_t i = 0; i < m_ropeDivisors.size(); ++i)
            if (!std::isfinite(m_ropeDivisors[i]) || m_ropeDivisors[i] <= 0.0f)
                refuse(ErrorCode::BadFile,
                       "element {} of tensor rope_freqs.weight is {}, expected a finite "
                       "number above 0",
                       i, m_ropeDivisors[i]);
    }

    TensorView matrix(const std::string& name, int cols, int rows, Need need = Need::Required)
    {
        const GgufTensor* tensor = take(name, need);
        if (!tensor || !checkShape(*tensor, cols, rows))
            return {};
        if (!kernels::dtypeInfo(tensor->typeId)) {
            refuse(ErrorCode::UnsupportedModel,
                   "tensor {} is of format {}, which this program cannot compute "
                   "with; supported are F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, "
                   "Q5_1 and Q2_K to Q6_K",
                   name, tensorTypeName(tensor->typeId));
            return {};
        }
        return view(*tensor, cols, rows);
    }

    // Norms and biases: always F32 in files that converters write.
    TensorView vector(const std::string& name, int elements, Need need = Need::Required)
    {
        const GgufTensor* tensor = take(name, need);
        if (!tensor || !checkShape(*tensor, elements, 1))
            return {};
        if (tensor->typeId != static_cast<std::uint32_t>(kernels::DType::F32)) {
            refuse(ErrorCode::UnsupportedModel, "tensor {} is of format {}, norms and biases are read as F32 only",
                   name, tensorTypeName(tensor->typeId));
            return {};
        }
        return view(*tensor, elements, 1);
    }

    const GgufTensor* take(const std::string& name, Need need)
    {
        if (m_error)
            return nullptr;
        const auto found = m_unused.find(name);
        if (found == m_unused.end()) {
            if (need == Need::Required)
                refuse(ErrorCode::UnsupportedModel, "tensor {} is missing, {} models need it", name,
                       m_architecture.name);
            return nullptr;
        }
        const GgufTensor* tensor = found->second;
        m_unused.erase(found);
        return tensor;
    }

    bool checkShape(const GgufTensor& tensor, int cols, int rows)
    {
        std::int64_t rest = 1;
        for (std::size_t d = 1; d < tensor.shape.size(); ++d)
            rest *= tensor.shape[d];  // the file has been checked: the product is at most 2^63
        const bool flat = tensor.shape.size() <= 2 || rest == tensor.shape[1];
        if (tensor.shape[0] == cols && rest == rows && flat)
            return true;
        refuse(ErrorCode::BadFile, "tensor {} is {}, the metadata ask for {}{}", tensor.name,
               fmt::format("{}", fmt::join(tensor.shape, " × ")), cols, rows == 1 ? "" : fmt::format(" × {}", rows));
        return false;
    }

    TensorView view(const GgufTensor& tensor, int cols, int rows) const
    {
        return {m_mapping ? m_mapping->tensorBytes(tensor).data() : &kNotMapped,
                kernels::dtypeInfo(tensor.typeId)->type, rows, cols};
    }

    // A tensor nobody reads would silently be left out of the answer.
    void refuseUnused()
    {
        for (const GgufTensor& tensor : m_file.tensors)
            if (m_unused.contains(tensor.name))
                return refuse(ErrorCode::UnsupportedModel,
                              "tensor {} ({} elements, {}) has no place in a {} model of this program",
                              printableName(tensor.name), tensor.elements, tensorTypeName(tensor.typeId),
                              m_architecture.name);
    }

    const GgufFile& m_file;
    const GgufMapping* m_mapping;
    const Architecture& m_architecture;
    const HyperParameters m_model;
    const std::string m_fileName;
    std::unordered_map<std::string_view, const GgufTensor*> m_unused;
    std::vector<float> m_ropeDivisors;
    std::optional<Error> m_error;
};

Result<const Architecture*> architectureOf(const GgufFile& file)
{
    const auto name = file.stringValue("general.architecture");
    const std::string fileName = file.path.filename().string();
    if (!name)
        return tl::unexpected(name.error());
    if (!*name)
        return fail(ErrorCode::UnsupportedModel, "{}: metadata key general.architecture is missing; supported are {}",
                    fileName, architectureNames());
    if (const Architecture* found = findArchitecture(**name))
        return found;
    return fail(ErrorCode::UnsupportedModel, "{}: the architecture \"{}\" is not supported; supported are {}", fileName,
                printableName(**name), architectureNames());
}

}  // namespace

Result<AssembledModel> assembleModel(const GgufFile& file, const GgufMapping* mapping)
{
    const auto architecture = architectureOf(file);
    if (!architecture)
        return tl::unexpected(architecture.error());
    auto model = readHyperParameters(file, **architecture);
    if (!model)
        return tl::unexpected(model.error());
    const int trainedContext = model->trainedContext;
    auto program = Builder(file, mapping, **architecture, std::move(*model)).build();
    if (!program)
        return tl::unexpected(program.error());
    return AssembledModel{std::move(*program), trainedContext};
}

}  // namespace tokenscope
