#include "app/services/run_documents.h"

#include <cstdlib>

#include <nlohmann/json.hpp>

namespace tokenscope {
namespace {

using nlohmann::json;

// Candidates of all tokens together: about 25 bytes each in the database. Whole vocabularies would fill it.
constexpr std::size_t kMostStoredLogits = 100'000;

json optionalNumber(const std::optional<double>& value)
{
    return value ? json(*value) : json(nullptr);
}

json optionalTime(const std::optional<Nanoseconds>& value)
{
    return value ? json(*value) : json(nullptr);
}

// Numbers as numbers, so that nobody has to parse them a second time; "auto" and "random" stay words.
json typedValue(const SettingInfo& info, const std::string& value)
{
    if (info.kind == SettingKind::Integer || info.kind == SettingKind::Number) {
        const json number = json::parse(value, nullptr, false);
        if (number.is_number())
            return number;
    }
    return value;
}

json topLogitsDocument(const std::vector<std::vector<TopLogit>>& tokens)
{
    json list = json::array();
    for (const auto& token : tokens) {
        json candidates = json::array();
        for (const TopLogit& candidate : token)
            candidates.push_back({candidate.id, candidate.logit});
        list.push_back(std::move(candidates));
    }
    return list;
}

json parsedOr(const std::string& text, json otherwise)
{
    json document = json::parse(text, nullptr, false);
    return document.is_discarded() ? otherwise : document;
}

json modelDocument(const ModelInfo& model)
{
    return {{"path", model.path},
            {"name", model.name},
            {"architecture", model.architecture},
            {"sha256", model.sha256.empty() ? json(nullptr) : json(model.sha256)},
            {"file_bytes", model.fileBytes},
            {"parameters", model.parameters}};
}

}  // namespace

json configDocument(const Settings& settings, const LoadedModelInfo& model)
{
    json config;
    for (const SettingInfo& info : settingTable()) {
        const std::string key(info.key);
        config[key] = typedValue(info, settingValue(settings, info.key));
    }
    config["stop"] = settings.sampling.stop;
    if (settings.sampling.seed)
        config["seed"] = *settings.sampling.seed;

    // What "auto" became.
    config["device"] = settings.engine.device == Device::Reference ? "reference" : "cpu";
    config["isa"] = model.isa;
    config["threads"] = model.threads;
    config["context"] = model.context;
    config["kv_budget"] = model.budget.kvBytes;

    // The one way this build works; later builds have a choice here.
    config["weights"] = "file";
    config["kv_layout"] = "paged";
    config["kv_cache"] = "on";
    config["kv_policy"] = "stop";
    config["attention"] = "flash";
    config["batching"] = "continuous";
    config["prefix_cache"] = "off";
    config["speculate"] = "off";
    return config;
}

json environmentDocument(const LoadedModelInfo& model)
{
    const MachineInfo machine = describeMachine();
    return {{"version", TOKENSCOPE_VERSION}, {"cpu", machine.cpu}, {"isa", model.isa},
            {"threads", model.threads},      {"os", machine.os},   {"gpu", nullptr}};
}

json metricsDocument(const RequestMetrics& metrics, double loadMs)
{
    return {{"load_ms", loadMs},
            {"tokenize_ms", optionalNumber(metrics.tokenizeMs)},
            {"queue_ms", optionalNumber(metrics.queueMs)},
            {"prefill_ms", optionalNumber(metrics.prefillMs)},
            {"first_sample_ms", optionalNumber(metrics.firstSampleMs)},
            {"ttft_ms", optionalNumber(metrics.ttftMs)},
            {"tpot_ms", optionalNumber(metrics.tpotMs)},
            {"itl_ms", metrics.itlMs},
            {"e2e_ms", optionalNumber(metrics.e2eMs)},
            {"normalised_latency_ms", optionalNumber(metrics.normalisedLatencyMs)},
            {"prompt_tokens", metrics.promptTokens},
            {"cached_tokens", metrics.cachedTokens},
            {"output_tokens", metrics.outputTokens},
            {"prefill_tokens_per_s", optionalNumber(metrics.prefillTokensPerSecond)},
            {"decode_tokens_per_s", optionalNumber(metrics.decodeTokensPerSecond)},
            {"kv_bytes", metrics.kvBytes},
            {"kv_blocks", metrics.kvBlocks},
            {"mbu", optionalNumber(metrics.mbu)},
            {"mfu", optionalNumber(metrics.mfu)},
            {"peak_rss_bytes", peakResidentBytes()},
            {"drafted_tokens", metrics.draftedTokens},
            {"accepted_tokens", metrics.acceptedTokens}};
}

json traceDocument(const RequestTrace& trace)
{
    json chunks = json::array();
    for (const ChunkStamp& chunk : trace.chunks)
        chunks.push_back({{"end_ns", chunk.endNs}, {"tokens", chunk.tokens}, {"step_id", chunk.stepId}});
    json tokens = json::array();
    for (const TokenStamp& token : trace.tokens)
        tokens.push_back({{"id", token.id},
                          {"committed_ns", token.committedNs},
                          {"step_id", token.stepId},
                          {"committed_in_step", token.committedInStep},
                          {"drafted_in_step", token.draftedInStep},
                          {"text_begin", token.textBegin},
                          {"text_end", token.textEnd}});
    json steps = json::array();
    for (const StepRecord& step : trace.steps)
        steps.push_back({{"step_id", step.stepId},
                         {"start_ns", step.startNs},
                         {"computed_ns", step.computedNs},
                         {"end_ns", step.endNs},
                         {"rows", step.rows},
                         {"prefill_rows", step.prefillRows},
                         {"sequences", step.sequences},
                         {"weight_bytes", step.weightBytes},
                         {"kv_read_bytes", step.kvReadBytes},
                         {"kv_write_bytes", step.kvWriteBytes},
                         {"macs", step.macs},
                         {"new_blocks", step.newBlocks},
                         {"kv_blocks_used", step.kvBlocksUsed}});
    return {{"scheduled_ns", optionalTime(trace.scheduledNs)},
            {"submitted_ns", trace.submittedNs},
            {"tokenised_ns", optionalTime(trace.tokenisedNs)},
            {"admitted_ns", optionalTime(trace.admittedNs)},
            {"stopped_ns", optionalTime(trace.stoppedNs)},
            {"teardown_ns", optionalTime(trace.teardownNs)},
            {"prompt_tokens", trace.promptTokens},
            {"cached_tokens", trace.cachedTokens},
            {"dropped_bytes", trace.droppedBytes},
            {"kv_blocks_peak", trace.kvBlocksPeak},
            {"kv_bytes_peak", trace.kvBytesPeak},
            {"stop_reason", stopReasonName(trace.reason)},
            {"chunks", std::move(chunks)},
            {"tokens", std::move(tokens)},
            {"steps", std::move(steps)}};
}

json runDocument(const RequestFinished& finished, const LoadedModelInfo& model, const Settings& settings,
                 const RequestMetrics& metrics, RunId runId)
{
    Settings used = settings;
    used.sampling = finished.sampling;
    json document{{"model", modelDocument(model.model)},
                  {"prompt_ids", finished.promptIds},
                  {"output_ids", finished.outputIds},
                  {"text", finished.text},
                  {"stop_reason", stopReasonName(finished.trace.reason)},
                  {"metrics", metricsDocument(metrics, model.loadMs)},
                  {"config", configDocument(used, model)},
                  {"environment", environmentDocument(model)}};
    if (!finished.topLogits.empty())
        document["top_logits"] = topLogitsDocument(finished.topLogits);
    document["run_id"] = runId > 0 ? json(std::to_string(runId)) : json(nullptr);
    return document;
}

json runDocument(const RunRow& row)
{
    json config = parsedOr(row.configJson, json::object());
    const json result = parsedOr(row.resultJson, json::object());
    json model = result.is_object() && result.contains("model") ? result["model"] : json::object();
    model["path"] = row.modelPath;
    model["name"] = row.modelName;
    model["sha256"] = row.modelSha256.empty() ? json(nullptr) : json(row.modelSha256);
    json document{{"kind", row.kind},
                  {"started", row.startedMs},
                  {"model", std::move(model)},
                  {"prompt_ids", row.promptIds},
                  {"output_ids", row.outputIds},
                  {"text", row.outputText ? json(*row.outputText) : json(nullptr)},
                  {"metrics", parsedOr(row.metricsJson, json::object())},
                  {"config", std::move(config)},
                  {"environment", parsedOr(row.environmentJson, json::object())},
                  {"run_id", std::to_string(row.id)}};
    if (result.is_object() && result.contains("top_logits"))
        document["top_logits"] = result["top_logits"];
    if (row.kind == "bench" || row.kind == "perplexity")
        document["result"] = result;
    if (row.promptText)
        document["prompt"] = *row.promptText;
    if (row.trace) {
        document["stop_reason"] = stopReasonName(row.trace->reason);
        document["events"] = traceDocument(*row.trace);
    }
    return document;
}

RunRow makeRunRow(std::string kind, const RequestFinished& finished, const LoadedModelInfo& model,
                  const Settings& settings, const RequestMetrics& metrics, std::int64_t startedMs)
{
    Settings used = settings;
    used.sampling = finished.sampling;
    RunRow row;
    row.kind = std::move(kind);
    row.startedMs = startedMs;
    row.modelName = model.model.name;
    row.modelPath = model.model.path;
    row.modelSha256 = model.model.sha256;
    row.configJson = storedText(configDocument(used, model));
    row.environmentJson = storedText(environmentDocument(model));
    row.metricsJson = storedText(metricsDocument(metrics, model.loadMs));
    json result{{"model", modelDocument(model.model)}};
    if (!finished.topLogits.empty() &&
        finished.topLogits.size() * finished.topLogits.front().size() <= kMostStoredLogits)
        result["top_logits"] = topLogitsDocument(finished.topLogits);
    row.resultJson = storedText(result);
    row.trace = finished.trace;
    row.outputText = finished.text;
    row.promptIds = finished.promptIds;
    row.outputIds = finished.outputIds;
    return row;
}

std::string storedText(const json& document)
{
    return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace tokenscope
