#include "engine/model/hyper_parameters.h"

#include "engine/gguf/gguf_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace tokenscope {
namespace {

enum class Zero { Allowed, Refused };

// Reads keys of one architecture; the first thing wrong is kept and everything after it answers with a default.
class KeyReader {
public:
    KeyReader(const GgufFile& file, const Architecture& architecture)
        : m_file(file), m_prefix(std::string(architecture.name) + "."), m_fileName(file.path.filename().string())
    {
    }

    const std::optional<Error>& error() const { return m_error; }

    template <typename... Args>
    void refuse(ErrorCode code, fmt::format_string<const Args&...> form, const Args&... args)
    {
        if (m_error)
            return;
        m_error = Error{code, m_fileName + ": " + fmt::format(form, args...), {fmt::format("{}", args)...}};
    }

    // Absent: `fallback`, or an error where that is nullopt.
    int integer(const char* name, int minimum, int maximum, std::optional<int> fallback)
    {
        const std::string key = m_prefix + name;
        const auto value = perLayerIsUniform(key) ? uniformValue(key) : m_file.unsignedValue(key);
        if (!value) {
            if (!m_error)
                m_error = value.error();
            return minimum;
        }
        if (!*value) {
            if (!fallback)
                refuse(ErrorCode::BadFile, "metadata key {} is missing", key);
            return fallback.value_or(minimum);
        }
        if (**value < static_cast<std::uint64_t>(minimum) || **value > static_cast<std::uint64_t>(maximum)) {
            refuse(ErrorCode::BadFile, "metadata key {} is {}, expected {} to {}", key, **value, minimum, maximum);
            return minimum;
        }
        return static_cast<int>(**value);
    }

    // From 0, itself allowed or not, to `maximum`.
    double number(const char* name, Zero zero, double maximum, std::optional<double> fallback)
    {
        const std::string key = m_prefix + name;
        const auto value = m_file.numberValue(key);
        if (!value) {
            if (!m_error)
                m_error = value.error();
            return maximum;
        }
        if (!*value) {
            if (!fallback)
                refuse(ErrorCode::BadFile, "metadata key {} is missing", key);
            return fallback.value_or(maximum);
        }
        const bool enough = zero == Zero::Allowed ? **value >= 0.0 : **value > 0.0;
        if (!enough || !(**value <= maximum)) {
            refuse(ErrorCode::BadFile, "metadata key {} is {}, expected {} and at most {}", key, **value,
                   zero == Zero::Allowed ? "at least 0" : "more than 0", maximum);
            return maximum;
        }
        return **value;
    }

    std::string text(const char* name)
    {
        const auto value = m_file.stringValue(m_prefix + name);
        if (!value && !m_error)
            m_error = value.error();
        return value ? value->value_or("") : "";
    }

    bool has(const char* name) const { return m_file.metadata.contains(m_prefix + name); }
    std::string fullKey(const char* name) const { return m_prefix + name; }

    const GgufArray* array(const char* name) const
    {
        const auto found = m_file.metadata.find(m_prefix + name);
        return found == m_file.metadata.end() ? nullptr : std::get_if<GgufArray>(&found->second);
    }

private:
    bool perLayerIsUniform(const std::string& key) const
    {
        const auto found = m_file.metadata.find(key);
        return found != m_file.metadata.end() && std::holds_alternative<GgufArray>(found->second);
    }

    // Some converters write one value a layer even where all are the same.
    Result<std::optional<std::uint64_t>> uniformValue(const std::string& key) const
    {
        const auto values = m_file.numberArray(key);
        if (!values)
            return tl::unexpected(values.error());
        const std::vector<double>& each = **values;
        if (each.empty() || each.front() < 0 || each.front() > 9e15)
            return fail(ErrorCode::BadFile, "{}: metadata key {} is an array of {} elements without a usable value",
                        m_fileName, key, each.size());
        for (std::size_t i = 1; i < each.size(); ++i)
            if (each[i] != each.front())
                return fail(ErrorCode::UnsupportedModel,
                            "{}: {} is {} in layer 0 and {} in layer {}; models whose layers differ in it are "
                            "not supported",
                            m_fileName, key, each.front(), each[i], i);
        return static_cast<std::uint64_t>(each.front());
    }

    const GgufFile& m_file;
    std::string m_prefix;
    std::string m_fileName;
    std::optional<Error> m_error;
};

void readHeads(KeyReader& keys, HyperParameters& model)
{
    model.heads = keys.integer("attention.head_count", 1, kMaxHeads, {});
    model.kvHeads = keys.integer("attention.head_count_kv", 1, kMaxHeads, model.heads);
    if (!keys.error() && model.heads % model.kvHeads != 0)
        keys.refuse(ErrorCode::BadFile, "metadata key {} is {}, not a divisor of the {} heads",
                    keys.fullKey("attention.head_count_kv"), model.kvHeads, model.heads);
    if (!keys.error() && !keys.has("attention.key_length") && model.embedding % model.heads != 0)
        keys.refuse(ErrorCode::BadFile, "metadata key {} is {}, not a divisor of {} {}, and {} is missing",
                    keys.fullKey("attention.head_count"), model.heads, keys.fullKey("embedding_length"),
                    model.embedding, keys.fullKey("attention.key_length"));
    const int share = std::max(1, model.embedding / model.heads);
    model.headDimK = keys.integer("attention.key_length", 1, kMaxHeadDim, share);
    model.headDimV = keys.integer("attention.value_length", 1, kMaxHeadDim, share);
    if (!keys.error() && (model.headDimK > kMaxHeadDim || model.headDimV > kMaxHeadDim))
        keys.refuse(ErrorCode::BadFile, "heads of {} elements ({} / {}), the limit is {}", share, model.embedding,
                    model.heads, kMaxHeadDim);
}

void readRope(KeyReader& keys, const Architecture& architecture, HyperParameters& model)
{
    model.ropeDims = keys.integer("rope.dimension_count", 0, kMaxHeadDim, model.headDimK);
    if (!keys.error() && (model.ropeDims > model.headDimK || model.ropeDims % 2 != 0))
        keys.refuse(ErrorCode::BadFile, "metadata key {} is {}, expected an even number up to the head size {}",
                    keys.fullKey("rope.dimension_count"), model.ropeDims, model.headDimK);
    constexpr double kMaxBase = 1e12;
    constexpr double kMaxFactor = 1e6;
    model.ropeBase = keys.number("rope.freq_base", Zero::Refused, kMaxBase, 10000.0);
    model.localRopeBase = keys.number("rope.freq_base_swa", Zero::Refused, kMaxBase, architecture.localRopeBase);
    // The older key of linear scaling, then the newer pair.
    double factor = keys.number("rope.scale_linear", Zero::Refused, kMaxFactor, 1.0);
    const std::string scaling = keys.text("rope.scaling.type");
    if (scaling == "linear")
        factor = keys.number("rope.scaling.factor", Zero::Refused, kMaxFactor, factor);
    else if (!scaling.empty() && scaling != "none")
        keys.refuse(ErrorCode::UnsupportedModel, "{} is \"{}\", supported are none and linear",
                    keys.fullKey("rope.scaling.type"), printableName(scaling));
    model.ropeScale = 1.0 / factor;
}

void readWindows(KeyReader& keys, const Architecture& architecture, HyperParameters& model)
{
    model.windows.assign(static_cast<std::size_t>(model.layers), 0);
    if (architecture.globalEvery == 0)
        return;
    const int window = keys.integer("attention.sliding_window", 1, kMaxContext, {});
    const char* patternKey = "attention.sliding_window_pattern";
    const GgufArray* pattern = keys.array(patternKey);
    const auto* isLocal = pattern ? std::get_if<std::vector<bool>>(&pattern->values) : nullptr;
    if (isLocal && isLocal->size() != model.windows.size()) {
        keys.refuse(ErrorCode::BadFile, "metadata key {} has {} elements, expected one for each of {} layers",
                    keys.fullKey(patternKey), isLocal->size(), model.layers);
        return;
    }
    const int every = isLocal ? 0 : keys.integer(patternKey, 1, kMaxLayers, architecture.globalEvery);
    for (int layer = 0; layer < model.layers; ++layer)
        if (isLocal ? (*isLocal)[static_cast<std::size_t>(layer)] : (layer + 1) % every != 0)
            model.windows[static_cast<std::size_t>(layer)] = window;
}

}  // namespace

Result<HyperParameters> readHyperParameters(const GgufFile& file, const Architecture& architecture)
{
    KeyReader keys(file, architecture);
    HyperParameters model;
    model.layers = keys.integer("block_count", 1, kMaxLayers, {});
    model.embedding = keys.integer("embedding_length", 1, kMaxEmbedding, {});
    model.feedForward = keys.integer("feed_forward_length", 1, kMaxFeedForward, {});
    model.trainedContext = keys.integer("context_length", 1, kMaxContext, {});
    model.normEpsilon = keys.number("attention.layer_norm_rms_epsilon", Zero::Refused, 1.0, {});
    if (const int experts = keys.integer("expert_count", 0, 1 << 16, 0); experts > 0)
        keys.refuse(ErrorCode::UnsupportedModel, "{} is {}: mixtures of experts are not supported",
                    keys.fullKey("expert_count"), experts);
    readHeads(keys, model);
    readRope(keys, architecture, model);
    if (!keys.error())
        readWindows(keys, architecture, model);
    if (architecture.softcaps) {
        model.attentionSoftcap = keys.number("attn_logit_softcapping", Zero::Allowed, 1e6, 0.0);
        model.finalSoftcap = keys.number("final_logit_softcapping", Zero::Allowed, 1e6, 0.0);
    }
    if (const auto* tokens = file.stringArray("tokenizer.ggml.tokens"))
        model.vocabulary = static_cast<int>(tokens->size());
    else
        model.vocabulary = keys.integer("vocab_size", 1, kMaxVocabulary, {});
    if (!keys.error() && (model.vocabulary < 1 || model.vocabulary > kMaxVocabulary))
        keys.refuse(ErrorCode::BadFile, "tokenizer.ggml.tokens has {} elements, expected 1 to {}", model.vocabulary,
                    kMaxVocabulary);
    if (keys.error())
        return tl::unexpected(*keys.error());
    return model;
}

}  // namespace tokenscope
