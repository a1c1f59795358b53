#include "app/cli/command_line.h"
#include "app/cli/commands.h"
#include "app/cli/engine_session.h"
#include "app/services/run_documents.h"

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <memory>

#include <CLI/App.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tokenscope::cli {
namespace {

using nlohmann::json;

json parsed(const std::string& text)
{
    json document = json::parse(text, nullptr, false);
    return document.is_discarded() ? json(nullptr) : document;
}

std::string utc(std::int64_t ms)
{
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(ms / 1000)));
}

json listEntry(const RunRow& row)
{
    return {{"id", std::to_string(row.id)},
            {"kind", row.kind},
            {"started", utc(row.startedMs)},
            {"model",
             {{"name", row.modelName},
              {"path", row.modelPath},
              {"sha256", row.modelSha256.empty() ? json(nullptr) : json(row.modelSha256)}}},
            {"config", parsed(row.configJson)},
            {"metrics", parsed(row.metricsJson)},
            {"environment", parsed(row.environmentJson)}};
}

std::string numberOr(const json& document, const char* key, const char* format)
{
    if (!document.is_object() || !document.contains(key) || !document[key].is_number())
        return "–";
    return fmt::format(fmt::runtime(format), document[key].get<double>());
}

std::string table(const std::vector<RunRow>& rows)
{
    std::string text = fmt::format("{:>6}  {:<20}  {:<10}  {:>10}  {:>9}  {:>9}  {}\n", "run", "started", "kind",
                                   "TTFT ms", "TPOT ms", "tokens/s", "model");
    for (const RunRow& row : rows) {
        const json metrics = parsed(row.metricsJson);
        text += fmt::format("{:>6}  {:<20}  {:<10}  {:>10}  {:>9}  {:>9}  {}\n", row.id, utc(row.startedMs), row.kind,
                            numberOr(metrics, "ttft_ms", "{:.1f}"), numberOr(metrics, "tpot_ms", "{:.2f}"),
                            numberOr(metrics, "decode_tokens_per_s", "{:.1f}"), row.modelName);
    }
    return text;
}

Result<RunId> parseRunId(Storage& storage, const std::string& text)
{
    if (text == "last")
        return storage.lastRun();
    RunId id = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), id);
    if (problem != std::errc() || end != text.data() + text.size() || id < 1)
        return fail(ErrorCode::BadInput, "{}: is no run; expected its number or last", text);
    return id;
}

Result<RunRow> readRun(Storage& storage, const std::string& text)
{
    const auto id = parseRunId(storage, text);
    if (!id)
        return tl::unexpected(id.error());
    return storage.run(*id);
}

Result<int> written(bool fine)
{
    if (!fine)
        return tl::unexpected(outputFailed());
    return kDone;
}

Result<int> list(const CommonOptions& options, int limit)
{
    const auto storage = openStorage(options);
    if (!storage)
        return tl::unexpected(storage.error());
    const auto rows = (*storage)->runs(limit);
    if (!rows)
        return tl::unexpected(rows.error());
    if (!options.json)
        return written(writeOut(table(*rows)));
    json runs = json::array();
    for (const RunRow& row : *rows)
        runs.push_back(listEntry(row));
    return written(printJson({{"runs", std::move(runs)}}));
}

std::string shown(const RunRow& row)
{
    json document = runDocument(row);
    document.erase("events");  // thousands of lines; --json and export have them
    document["started"] = utc(row.startedMs);
    return document.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

Result<int> show(const CommonOptions& options, const std::string& run)
{
    const auto storage = openStorage(options);
    if (!storage)
        return tl::unexpected(storage.error());
    const auto row = readRun(**storage, run);
    if (!row)
        return tl::unexpected(row.error());
    return written(options.json ? printJson(runDocument(*row)) : writeOut(shown(*row)));
}

struct ExportOptions {
    std::vector<std::string> runs;
    std::string out;
    std::string format = "json";
    bool withText = false;
};

// Neither the words nor what they could be told from.
void dropTexts(RunRow& row)
{
    row.promptText.reset();
    row.outputText.reset();
    row.promptIds.clear();
    row.outputIds.clear();
    if (row.trace) {
        for (TokenStamp& token : row.trace->tokens)
            token.id = 0;
    }
}

json exportDocument(RunRow row, bool withText)
{
    if (!withText)
        dropTexts(row);
    json document = runDocument(row);
    if (!withText) {
        for (const char* field : {"prompt", "text", "prompt_ids", "output_ids"})
            document.erase(field);
        if (document.contains("events")) {
            for (json& token : document["events"]["tokens"])
                token.erase("id");
        }
    }
    return document;
}

std::string csvField(std::string text)
{
    if (text.find_first_of(",\"\n\r") == std::string::npos)
        return text;
    std::string quoted = "\"";
    for (char c : text)
        quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    return quoted + '"';
}

// A line a run; the columns name unit and definition as in metrics.md.
std::string csv(const std::vector<RunRow>& rows)
{
    constexpr const char* kMetrics[] = {"load_ms",
                                        "tokenize_ms",
                                        "queue_ms",
                                        "prefill_ms",
                                        "first_sample_ms",
                                        "ttft_ms",
                                        "tpot_ms",
                                        "e2e_ms",
                                        "normalised_latency_ms",
                                        "prompt_tokens",
                                        "cached_tokens",
                                        "output_tokens",
                                        "prefill_tokens_per_s",
                                        "decode_tokens_per_s",
                                        "kv_bytes",
                                        "kv_blocks",
                                        "mbu",
                                        "mfu",
                                        "peak_rss_bytes"};
    std::string text = "run_id,kind,started,model,model_sha256,isa,threads,kv,context";
    for (const char* name : kMetrics)
        text += fmt::format(",{}", name);
    text += "\n";
    for (const RunRow& row : rows) {
        const json metrics = parsed(row.metricsJson);
        const json config = parsed(row.configJson);
        const auto field = [](const json& document, const char* key) -> std::string {
            if (!document.is_object() || !document.contains(key) || document[key].is_null())
                return "";
            return document[key].is_string() ? csvField(document[key].get<std::string>())
                                             : csvField(document[key].dump());
        };
        text += fmt::format("{},{},{},{},{}", row.id, csvField(row.kind), utc(row.startedMs), csvField(row.modelName),
                            row.modelSha256);
        for (const char* key : {"isa", "threads", "kv", "context"})
            text += "," + field(config, key);
        for (const char* name : kMetrics)
            text += "," + field(metrics, name);
        text += "\n";
    }
    return text;
}

Result<void> writeFile(const std::string& path, const std::string& text)
{
    const std::string beside = path + ".part";
    std::ofstream file(beside, std::ios::binary);
    file << text;
    file.close();
    if (!file || std::rename(beside.c_str(), path.c_str()) != 0) {
        const std::string why = std::strerror(errno);
        std::remove(beside.c_str());
        return fail(ErrorCode::FileAccess, "--out {}: cannot be written: {}", path, why);
    }
    return {};
}

Result<int> exportRuns(const CommonOptions& options, const ExportOptions& wanted)
{
    if (wanted.format != "json" && wanted.format != "csv")
        return fail(ErrorCode::BadSetting, "--format {}: expected json or csv", wanted.format);
    if (wanted.format == "csv" && wanted.withText)
        return fail(ErrorCode::BadSetting, "--with-text: a CSV holds measurements only; use --format json");
    const auto storage = openStorage(options);
    if (!storage)
        return tl::unexpected(storage.error());
    std::vector<RunRow> rows;
    for (const std::string& run : wanted.runs) {
        auto row = readRun(**storage, run);
        if (!row)
            return tl::unexpected(row.error());
        rows.push_back(std::move(*row));
    }
    std::string text;
    if (wanted.format == "csv") {
        text = csv(rows);
    } else {
        json runs = json::array();
        for (RunRow& row : rows)
            runs.push_back(exportDocument(std::move(row), wanted.withText));
        text = json{{"runs", std::move(runs)}}.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
    }
    if (wanted.out.empty())
        return written(writeOut(text));
    if (auto done = writeFile(wanted.out, text); !done)
        return tl::unexpected(done.error());
    return kDone;
}

}  // namespace

void addRuns(CommandLine& line)
{
    CLI::App& runs = line.addGroup("runs", "what is stored of earlier runs");
    constexpr unsigned kOptions = CommandLine::kOutput | CommandLine::kData;

    auto limit = std::make_shared<int>(1000);
    line.add(runs, "list", "the newest first", kOptions,
             [limit](const CommonOptions& options) { return list(options, *limit); })
        .add_option("--limit", *limit, "at most this many [1000]")
        ->check(CLI::Range(1, 1'000'000));

    auto shownRun = std::make_shared<std::string>();
    line.add(runs, "show", "one run", kOptions,
             [shownRun](const CommonOptions& options) { return show(options, *shownRun); })
        .add_option("RUN", *shownRun, "its number, or last")
        ->required();

    auto wanted = std::make_shared<ExportOptions>();
    CLI::App& command = line.add(runs, "export", "runs with their raw events, without their texts", kOptions,
                                 [wanted](const CommonOptions& options) { return exportRuns(options, *wanted); });
    command.add_option("RUN", wanted->runs, "their numbers, or last")->required();
    command.add_option("--out", wanted->out, "a file instead of standard output");
    command.add_option("--format", wanted->format, "json or csv [json]");
    command.add_flag("--with-text", wanted->withText, "prompt, answer and token ids too");
    CommandLine::addAbsentOptions(command, {"definitions"});
    line.addAbsent(runs, {"delete", "tag"});
}

}  // namespace tokenscope::cli
