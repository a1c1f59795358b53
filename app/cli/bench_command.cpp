#include "app/cli/bench_table.h"
#include "app/cli/command_line.h"
#include "app/cli/commands.h"
#include "app/cli/engine_session.h"
#include "app/cli/step_bench_command.h"
#include "app/services/model_hash.h"
#include "app/services/paths.h"
#include "app/services/run_documents.h"
#include "engine/tokenizer/tokenizer.h"

#include <algorithm>
#include <memory>
#include <random>

#include <CLI/App.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tokenscope::cli {
namespace {

using nlohmann::json;

struct BenchOptions {
    std::vector<int> prompt{512};
    std::vector<int> output{128};
    std::vector<int> depth{0};
    int repetitions = 5;
    std::string form = "md";
    std::vector<int> sequences;  // bare steps instead, see StepBenchOptions
    std::vector<int> rows;
    bool profile = false;
};

constexpr int kMostTokens = 1 << 20;

Result<void> checkOptions(const BenchOptions& wanted)
{
    const auto inRange = [](const std::vector<int>& values) {
        return std::all_of(values.begin(), values.end(), [](int value) { return value >= 0 && value <= kMostTokens; });
    };
    if (!inRange(wanted.prompt) || !inRange(wanted.output) || !inRange(wanted.depth))
        return fail(ErrorCode::BadSetting, "-p, -n and -d: expected 0 to {} tokens", kMostTokens);
    if (wanted.repetitions < 1 || wanted.repetitions > 1000)
        return fail(ErrorCode::BadSetting, "-r {}: expected 1 to 1000", wanted.repetitions);
    if (wanted.form != "md" && wanted.form != "json" && wanted.form != "jsonl" && wanted.form != "csv")
        return fail(ErrorCode::BadSetting, "-o {}: expected md, json, jsonl or csv", wanted.form);
    if (int{!wanted.sequences.empty()} + int{!wanted.rows.empty()} + int{wanted.profile} > 1)
        return fail(ErrorCode::BadSetting, "--sequences, --rows and --profile: give one of them at a time");
    return {};
}

Result<std::vector<BenchTest>> testsOf(const BenchOptions& wanted)
{
    std::vector<BenchTest> tests;
    for (int depth : wanted.depth) {
        for (int tokens : wanted.prompt) {
            if (tokens > 0)
                tests.push_back({.promptTokens = tokens, .depth = depth});
        }
        for (int tokens : wanted.output) {
            if (tokens > 0)
                tests.push_back({.outputTokens = tokens, .depth = depth});
        }
    }
    if (tests.empty())
        return fail(ErrorCode::BadSetting, "-p 0 -n 0: nothing is left to measure");
    return tests;
}

int contextFor(const BenchTest& test)
{
    return test.depth + test.promptTokens + test.outputTokens + 2;  // the first token, and room for one to end with
}

// The same ids at every run: words make no difference to the time.
std::vector<TokenId> someIds(int count, int vocabulary)
{
    std::mt19937 random(42);
    std::vector<TokenId> ids(static_cast<std::size_t>(count));
    for (TokenId& id : ids)
        id = static_cast<TokenId>(random() % static_cast<unsigned>(vocabulary));
    return ids;
}

RequestSpec requestFor(const BenchTest& test, const SamplingSettings& sampling, int vocabulary)
{
    RequestSpec request;
    request.sampling = sampling;
    request.sampling.temperature = 0.0;
    request.sampling.ignoreEos = true;
    request.sampling.stop.clear();
    // n decode steps lie between n + 1 tokens; the first belongs to the prompt.
    request.sampling.maxTokens = test.outputTokens + 1;
    request.prompt = IdsPrompt{someIds(std::max(1, test.depth + test.promptTokens), vocabulary)};
    return request;
}

// Prompt tests: from the admission (with a depth: from the end of the first chunk that reaches it) to the end of the
// last chunk, for as many tokens as asked. Generation tests: from the first token to the last.
Result<double> elapsedNs(const BenchTest& test, const RequestTrace& trace)
{
    if (test.outputTokens > 0) {
        if (trace.tokens.size() < 2)
            return fail(ErrorCode::Internal, "the engine generated fewer than two tokens");
        const auto steps = static_cast<double>(trace.tokens.size() - 1);
        const auto ns = static_cast<double>(trace.tokens.back().committedNs - trace.tokens.front().committedNs);
        return ns / steps * test.outputTokens;
    }
    if (trace.chunks.empty() || !trace.admittedNs)
        return fail(ErrorCode::Internal, "the engine read no prompt");
    Nanoseconds from = *trace.admittedNs;
    int before = 0;
    for (const ChunkStamp& chunk : trace.chunks) {
        if (before >= test.depth)
            break;
        before += chunk.tokens;
        from = chunk.endNs;
    }
    int total = 0;
    for (const ChunkStamp& chunk : trace.chunks)
        total += chunk.tokens;
    if (total <= before)
        return fail(ErrorCode::BadSetting,
                    "-d {}: one step read depth and prompt together; use a smaller --prefill-chunk", test.depth);
    return static_cast<double>(trace.chunks.back().endNs - from) / (total - before) * test.promptTokens;
}

Result<BenchRow> measure(EngineSession& session, const CommonOptions& options, const BenchTest& test, int repetitions)
{
    const int vocabulary = session.port().modelText()->tokenizer->vocabularySize();
    BenchRow row{.test = test, .startedMs = systemClock().wallMs()};
    for (int i = -1; i < repetitions; ++i) {  // the first warms caches and clocks up and is not counted
        Progress progress(options.quiet);
        progress.show(i < 0 ? std::string("Warming up") : fmt::format("Repetition {} of {}", i + 1, repetitions));
        const auto answers = session.answer({requestFor(test, options.settings.sampling, vocabulary)});
        const RequestFinished& answer = answers.front();
        if (answer.error)
            return tl::unexpected(*answer.error);
        if (interrupted())
            return fail(ErrorCode::Cancelled, "interrupted");
        const auto ns = elapsedNs(test, answer.trace);
        if (!ns)
            return tl::unexpected(ns.error());
        for (const ChunkStamp& chunk : answer.trace.chunks)
            row.largestChunk = std::max(row.largestChunk, chunk.tokens);
        if (i >= 0)
            row.samplesNs.push_back(*ns);
    }
    return row;
}

std::string formatted(const std::string& form, const std::string& table, const std::vector<json>& documents)
{
    if (form == "md")
        return table;
    if (form == "csv")
        return benchCsv(documents);
    if (form == "json")
        return json(documents).dump(2, ' ', false, json::error_handler_t::replace) + "\n";
    std::string lines;
    for (const json& document : documents)
        lines += document.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
    return lines;
}

void store(const CommonOptions& options, const EngineSettings& engine, const LoadedModelInfo& model,
           std::int64_t startedMs, const std::vector<json>& documents)
{
    Settings used = options.settings;
    used.engine = engine;
    used.sampling.temperature = 0.0;
    RunRow stored;
    stored.kind = "bench";
    stored.startedMs = startedMs;
    stored.modelName = model.model.name;
    stored.modelPath = model.model.path;
    stored.modelSha256 = model.model.sha256;
    stored.configJson = storedText(configDocument(used, model));
    stored.environmentJson = storedText(environmentDocument(model));
    stored.metricsJson = storedText(json::object());
    stored.resultJson = storedText(documents);
    const RunId id = saveRun(options, std::move(stored));
    if (id > 0 && !options.quiet)
        writeNote(fmt::format("run {}", id));
}

Result<int> steps(const CommonOptions& options, const BenchOptions& wanted)
{
    const std::int64_t startedMs = systemClock().wallMs();
    auto measured = benchSteps(options, {.sequences = wanted.sequences,
                                         .rows = wanted.rows,
                                         .profile = wanted.profile,
                                         .prompt = wanted.prompt,
                                         .output = wanted.output,
                                         .depth = wanted.depth,
                                         .repetitions = wanted.repetitions});
    if (!measured)
        return tl::unexpected(measured.error());
    if (options.save) {
        if (auto hash = modelHash(cacheDirectory(), options.model, interruptFlag()))
            measured->model.model.sha256 = std::move(*hash);
    }
    const auto& profile = measured->tables.profile;
    const std::vector<json> documents = profile ? profileLines(*profile) : stepDocuments(measured->tables);
    store(options, measured->engine, measured->model, startedMs, documents);
    const std::string table = profile ? profileMarkdown(*profile) : stepMarkdown(measured->tables);
    if (!(profile && wanted.form == "json" ? printJson(profileDocument(*profile))
                                           : writeOut(formatted(wanted.form, table, documents))))
        return tl::unexpected(outputFailed());
    return kDone;
}

Result<int> bench(const CommonOptions& options, BenchOptions wanted)
{
    if (options.json)
        wanted.form = "json";
    if (auto good = checkOptions(wanted); !good)
        return tl::unexpected(good.error());
    if (!wanted.sequences.empty() || !wanted.rows.empty() || wanted.profile)
        return steps(options, wanted);
    const auto tests = testsOf(wanted);
    if (!tests)
        return tl::unexpected(tests.error());
    constexpr int kLeastContext = 32;
    EngineSettings engine = options.settings.engine;
    if (engine.context == 0) {
        engine.context = kLeastContext;
        for (const BenchTest& test : *tests)
            engine.context = std::max(engine.context, contextFor(test));
    }
    EngineSession session(options);
    if (auto loaded = session.load(engine); !loaded)
        return tl::unexpected(loaded.error());

    const std::int64_t startedMs = systemClock().wallMs();
    std::vector<BenchRow> rows;
    for (const BenchTest& test : *tests) {
        auto row = measure(session, options, test, wanted.repetitions);
        if (!row)
            return tl::unexpected(row.error());
        rows.push_back(std::move(*row));
    }
    session.addHash();
    const BenchSubject subject{session.model(), describeMachine(), engine.kv};
    std::vector<json> documents;
    for (const BenchRow& row : rows)
        documents.push_back(benchDocument(subject, row));

    store(options, engine, session.model(), startedMs, documents);
    if (!writeOut(formatted(wanted.form, benchMarkdown(subject, rows), documents)))
        return tl::unexpected(outputFailed());
    return kDone;
}

}  // namespace

void addBench(CommandLine& line)
{
    auto wanted = std::make_shared<BenchOptions>();
    CLI::App& command = line.add("bench", "tokens per second of prompt and generation",
                                 CommandLine::kOutput | CommandLine::kData | CommandLine::kModel |
                                     CommandLine::kEngine | CommandLine::kSaving,
                                 [wanted](const CommonOptions& options) { return bench(options, *wanted); });
    command.add_option("-p,--n-prompt", wanted->prompt, "prompt tokens, several with commas [512]")->delimiter(',');
    command.add_option("-n,--n-gen", wanted->output, "generated tokens, several with commas [128]")->delimiter(',');
    command.add_option("-d,--n-depth", wanted->depth, "tokens in the cache before, several with commas [0]")
        ->delimiter(',');
    command.add_option("-r,--repetitions", wanted->repetitions, "repetitions of each [5]");
    command.add_option("-o,--output", wanted->form, "md, json, jsonl or csv [md]");
    command
        .add_option("--sequences", wanted->sequences,
                    "that many prompts of -p tokens each, then -n steps of all; several with commas")
        ->delimiter(',');
    command
        .add_option("--rows", wanted->rows, "a step with that many sequences' rows at depth -d; several with commas")
        ->delimiter(',');
    command.add_flag("--profile", wanted->profile,
                     "where the time of a decode step at depth -d and of a prompt step of -p rows goes, by stage");
    CommandLine::addAbsentOptions(command, {"pg", "techniques"});
}

}  // namespace tokenscope::cli
