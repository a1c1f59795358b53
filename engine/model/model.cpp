#include "engine/model/model.h"

#include "engine/gguf/gguf_types.h"
#include "engine/model/layer_program_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

namespace tokenscope {
namespace {

// Lists and charts show what the file says even where it is nonsense; whether it can be run is decided elsewhere.
int shownInteger(const GgufFile& file, const std::string& key)
{
    const auto value = file.unsignedValue(key);
    return value && *value && **value <= std::numeric_limits<int>::max() ? static_cast<int>(**value) : 0;
}

std::string shownText(const GgufFile& file, std::string_view key)
{
    const auto value = file.stringValue(key);
    return value ? value->value_or("") : "";
}

std::string modelName(const GgufFile& file)
{
    const std::string name = shownText(file, "general.name");
    return name.empty() ? file.path.stem().string() : name;
}

struct FormatShare {
    int tensors = 0;
    std::uint64_t elements = 0;
};

void describeTensors(const GgufFile& file, ModelInfo& info)
{
    std::map<std::uint32_t, FormatShare> shares;
    std::uint64_t measuredElements = 0;
    std::uint64_t measuredBytes = 0;
    for (const GgufTensor& tensor : file.tensors) {
        FormatShare& share = shares[tensor.typeId];
        ++share.tensors;
        share.elements += tensor.elements;
        info.parameters += tensor.elements;
        if (tensor.bytes > 0) {
            measuredElements += tensor.elements;
            measuredBytes += tensor.bytes;
        }
    }
    if (measuredElements > 0)
        info.bitsPerWeight = static_cast<double>(measuredBytes) * 8.0 / static_cast<double>(measuredElements);
    std::vector<std::pair<std::uint32_t, FormatShare>> order(shares.begin(), shares.end());
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.second.tensors > b.second.tensors; });
    std::uint64_t mostElements = 0;
    for (const auto& [typeId, share] : order) {
        info.tensorMix +=
            fmt::format("{}{} {}", info.tensorMix.empty() ? "" : ", ", tensorTypeName(typeId), share.tensors);
        if (share.elements > mostElements) {
            mostElements = share.elements;
            info.mainType = tensorTypeName(typeId);
        }
    }
}

std::string describeTokenizer(const GgufFile& file)
{
    const std::string model = shownText(file, "tokenizer.ggml.model");
    const std::string pre = shownText(file, "tokenizer.ggml.pre");
    return model.empty() || pre.empty() ? model : model + " / " + pre;
}

}  // namespace

ModelInfo describeModel(const GgufFile& file)
{
    ModelInfo info;
    info.path = file.path.string();
    info.name = modelName(file);
    info.architecture = shownText(file, "general.architecture");
    info.fileBytes = file.fileBytes;
    describeTensors(file, info);
    const std::string prefix = info.architecture + ".";
    info.trainedContext = shownInteger(file, prefix + "context_length");
    info.layers = shownInteger(file, prefix + "block_count");
    info.embedding = shownInteger(file, prefix + "embedding_length");
    info.heads = shownInteger(file, prefix + "attention.head_count");
    info.kvHeads = shownInteger(file, prefix + "attention.head_count_kv");
    if (const auto* tokens = file.stringArray("tokenizer.ggml.tokens"))
        info.vocabulary = static_cast<int>(tokens->size());
    else
        info.vocabulary = shownInteger(file, prefix + "vocab_size");
    info.tokenizer = describeTokenizer(file);
    info.hasChatTemplate = !shownText(file, "tokenizer.chat_template").empty();
    const auto assembled = assembleModel(file, nullptr);
    info.runnable = assembled.has_value();
    if (!assembled) {
        info.whyNotRunnable = assembled.error().message;
        return info;
    }
    // Defaults of absent keys resolved.
    info.heads = assembled->program.heads;
    info.kvHeads = assembled->program.kvHeads;
    info.vocabulary = assembled->program.vocabulary;
    return info;
}

Result<kernels::LayerProgram> buildLayerProgram(const GgufFile& file, const GgufMapping& mapping)
{
    auto assembled = assembleModel(file, &mapping);
    if (!assembled)
        return tl::unexpected(assembled.error());
    assembled->program.name = modelName(file);
    return std::move(assembled->program);
}

std::vector<std::string> modelWarnings(const GgufFile& file)
{
    constexpr double kLlama3Base = 500'000.0;
    constexpr int kLlama3Context = 8'192;  // what Llama 3 was trained for before the factors came with 3.1
    std::vector<std::string> warnings;
    const auto base = file.numberValue("llama.rope.freq_base");
    const int context = shownInteger(file, "llama.context_length");
    if (base && *base == kLlama3Base && context > kLlama3Context && !file.findTensor("rope_freqs.weight"))
        warnings.push_back(
            fmt::format("{}: it says it was trained for {} tokens but has no tensor rope_freqs.weight, as "
                        "Llama 3.1 and later need it; expect worse answers beyond {} tokens",
                        file.path.filename().string(), context, kLlama3Context));
    return warnings;
}

}  // namespace tokenscope
