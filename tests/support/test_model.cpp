#include "tests/support/test_model.h"

#include "tests/support/random_weights.h"
#include "tests/support/test_vocabulary.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>

namespace tokenscope::test {
namespace {

using kernels::DType;

// Keeps files of tests in one string, but a benchmark's gigabyte out of memory.
constexpr std::uint64_t kHeldElements = 16u << 20;

class ModelMaker {
public:
    explicit ModelMaker(const TestModelSpec& spec) : m_spec(spec), m_seed(spec.seed * 1'000'003u) {}

    GgufWriter make()
    {
        writeMetadata();
        const int vocabulary = writeVocabulary(m_writer, m_spec);
        m_writer.setUint32(key("vocab_size"), static_cast<std::uint32_t>(vocabulary));
        const DType embeddingType = m_spec.embeddingType.value_or(m_spec.type);
        matrix("token_embd.weight", m_spec.embedding, vocabulary, embeddingType);
        norm("output_norm.weight", m_spec.embedding);
        if (!m_spec.tiedHead)
            matrix("output.weight", m_spec.embedding, vocabulary, embeddingType);
        if (m_spec.ropeFactors)
            vector("rope_freqs.weight", m_spec.headDim / 2, 2.0, 0.5);
        for (int layer = 0; layer < m_spec.layers; ++layer)
            addLayer(fmt::format("blk.{}.", layer));
        return std::move(m_writer);
    }

private:
    bool gemma3() const { return m_spec.architecture == "gemma3"; }
    std::string key(const char* name) const { return m_spec.architecture + "." + name; }
    void set(const char* name, int value) { m_writer.setUint32(key(name), static_cast<std::uint32_t>(value)); }

    void writeMetadata()
    {
        m_writer.setString("general.architecture", m_spec.architecture);
        m_writer.setString("general.name", "Test " + m_spec.architecture);
        set("context_length", m_spec.context);
        set("embedding_length", m_spec.embedding);
        set("block_count", m_spec.layers);
        set("feed_forward_length", m_spec.feedForward);
        set("attention.head_count", m_spec.heads);
        set("attention.head_count_kv", m_spec.kvHeads);
        m_writer.setFloat(key("attention.layer_norm_rms_epsilon"), gemma3() ? 1e-6f : 1e-5f);
        m_writer.setFloat(key("rope.freq_base"), m_spec.ropeBase);
        if (gemma3() || m_spec.headDim * m_spec.heads != m_spec.embedding) {
            set("attention.key_length", m_spec.headDim);
            set("attention.value_length", m_spec.headDim);
        }
        if (gemma3())
            set("attention.sliding_window", m_spec.window);
        else
            set("rope.dimension_count", m_spec.headDim);
        if (!m_spec.chatTemplate.empty())
            m_writer.setString("tokenizer.chat_template", m_spec.chatTemplate);
    }

    void matrix(const std::string& name, int cols, int rows, DType type)
    {
        if (cols % kernels::dtypeInfo(type).blockElements != 0)
            type = cols % 32 == 0 ? DType::Q8_0 : DType::F32;
        WrittenTensor tensor;
        tensor.name = name;
        tensor.dimensions = {static_cast<std::uint64_t>(cols), static_cast<std::uint64_t>(rows)};
        tensor.typeId = static_cast<std::uint32_t>(type);
        const std::uint64_t elements = tensor.dimensions[0] * tensor.dimensions[1];
        const double spread = 1.0 / std::sqrt(static_cast<double>(cols));  // keeps the size of a normalised vector
        const std::uint64_t seed = ++m_seed;
        if (elements <= kHeldElements) {
            tensor.data = randomTensor(type, elements, spread, seed);
        } else {
            tensor.dataBytes = kernels::rowBytes(type, cols) * tensor.dimensions[1];
            tensor.produceData = [=](std::ostream& out) { writeRandomTensor(out, type, elements, spread, seed); };
        }
        m_writer.tensors.push_back(std::move(tensor));
    }

    void vector(const std::string& name, int elements, double centre, double variation)
    {
        WrittenTensor tensor;
        tensor.name = name;
        tensor.dimensions = {static_cast<std::uint64_t>(elements)};
        tensor.data = randomVector(tensor.dimensions[0], centre, variation, ++m_seed);
        m_writer.tensors.push_back(std::move(tensor));
    }

    void norm(const std::string& name, int elements) { vector(name, elements, 1.0, 0.1); }

    void addLayer(const std::string& layer)
    {
        const int queries = m_spec.heads * m_spec.headDim;
        const int keys = m_spec.kvHeads * m_spec.headDim;
        norm(layer + "attn_norm.weight", m_spec.embedding);
        matrix(layer + "attn_q.weight", m_spec.embedding, queries, m_spec.type);
        matrix(layer + "attn_k.weight", m_spec.embedding, keys, m_spec.type);
        matrix(layer + "attn_v.weight", m_spec.embedding, keys, m_spec.type);
        matrix(layer + "attn_output.weight", queries, m_spec.embedding, m_spec.type);
        if (m_spec.qkvBias) {
            vector(layer + "attn_q.bias", queries, 0.1, 1.0);
            vector(layer + "attn_k.bias", keys, 0.1, 1.0);
            vector(layer + "attn_v.bias", keys, 0.1, 1.0);
        }
        norm(layer + "ffn_norm.weight", m_spec.embedding);
        matrix(layer + "ffn_gate.weight", m_spec.embedding, m_spec.feedForward, m_spec.type);
        matrix(layer + "ffn_up.weight", m_spec.embedding, m_spec.feedForward, m_spec.type);
        matrix(layer + "ffn_down.weight", m_spec.feedForward, m_spec.embedding, m_spec.type);
        if (gemma3()) {
            norm(layer + "attn_q_norm.weight", m_spec.headDim);
            norm(layer + "attn_k_norm.weight", m_spec.headDim);
            norm(layer + "post_attention_norm.weight", m_spec.embedding);
            norm(layer + "post_ffw_norm.weight", m_spec.embedding);
        }
    }

    const TestModelSpec& m_spec;
    GgufWriter m_writer;
    std::uint64_t m_seed;  // one for each tensor, counted up
};

}  // namespace

const char* const kChatMlTemplate =
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + "
    "'\\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

GgufWriter makeTestModel(const TestModelSpec& spec)
{
    return ModelMaker(spec).make();
}

TestModelSpec smallGemma3()
{
    TestModelSpec spec;
    spec.architecture = "gemma3";
    spec.layers = 6;
    spec.kvHeads = 1;
    spec.headDim = 32;
    spec.ropeBase = 1e6f;
    spec.vocabulary = TestVocabulary::SentencePiece;
    return spec;
}

TestModelSpec llama1bShape(kernels::DType type)
{
    TestModelSpec spec;
    spec.layers = 16;
    spec.embedding = 2048;
    spec.heads = 32;
    spec.kvHeads = 8;
    spec.headDim = 64;
    spec.feedForward = 8192;
    spec.context = 131'072;
    spec.ropeFactors = true;
    spec.ropeBase = 500'000.0f;
    spec.type = type;
    spec.pretokenizer = "llama-bpe";
    spec.vocabularySize = 128'256;
    spec.chatTemplate = kChatMlTemplate;
    return spec;
}

}  // namespace tokenscope::test
