#include "app/cli/command_line.h"
#include "app/cli/commands.h"
#include "app/cli/engine_session.h"
#include "app/services/run_documents.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>

#include <CLI/App.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tokenscope::cli {
namespace {

using nlohmann::json;

struct RunOptions {
    std::optional<std::string> prompt, promptFile, ids, system;
    bool chat = false;
    bool special = false;
    int topLogits = 0;
};

Result<std::vector<TokenId>> parseIds(const std::string& text)
{
    std::vector<TokenId> ids;
    const char* at = text.data();
    const char* const end = at + text.size();
    for (;;) {
        while (at != end && *at == ' ')
            ++at;
        TokenId id = 0;
        const auto [next, problem] = std::from_chars(at, end, id);
        if (problem != std::errc())
            return fail(ErrorCode::BadInput, "--ids {}: expected whole numbers with commas between, as 1,2,3",
                        text.substr(0, 60));
        ids.push_back(id);
        at = next;
        while (at != end && *at == ' ')
            ++at;
        if (at == end)
            return ids;
        if (*at++ != ',')
            return fail(ErrorCode::BadInput, "--ids {}: expected whole numbers with commas between, as 1,2,3",
                        text.substr(0, 60));
    }
}

struct Prompt {
    std::variant<TextPrompt, ChatPrompt, IdsPrompt, ScorePrompt> request;
    std::optional<std::string> text;  // for the database
};

Result<Prompt> readPrompt(const RunOptions& wanted)
{
    if (wanted.prompt.has_value() + wanted.promptFile.has_value() + wanted.ids.has_value() != 1)
        return fail(ErrorCode::BadInput, "run needs one of --prompt, --prompt-file (- is standard input) and --ids");
    const bool throughTemplate = wanted.chat || wanted.system;
    if (wanted.ids) {
        if (throughTemplate || wanted.special)
            return fail(ErrorCode::BadInput, "--ids is taken as it is: not with --chat, --system or --special");
        auto ids = parseIds(*wanted.ids);
        if (!ids)
            return tl::unexpected(ids.error());
        return Prompt{IdsPrompt{std::move(*ids)}, std::nullopt};
    }
    auto text = wanted.prompt ? Result<std::string>(*wanted.prompt) : readTextFile(*wanted.promptFile);
    if (!text)
        return tl::unexpected(text.error());
    if (!throughTemplate)
        return Prompt{TextPrompt{*text, wanted.special}, *text};
    if (wanted.special)
        return fail(ErrorCode::BadInput,
                    "--special: text of a message is never read for special tokens; not with --chat");
    ChatPrompt chat;
    if (wanted.system)
        chat.messages.push_back({"system", *wanted.system});
    chat.messages.push_back({"user", *text});
    return Prompt{std::move(chat), *text};
}

std::string optionalMs(const std::optional<double>& value)
{
    return value ? fmt::format("{:.2f} ms", *value) : std::string("–");
}

std::string summary(const RequestFinished& answer, const RequestMetrics& metrics, const LoadedModelInfo& model,
                    RunId id)
{
    std::string text =
        fmt::format("TTFT {} (tokenise {}, queue {}, prefill {}, first sample {}), TPOT {}\n",
                    optionalMs(metrics.ttftMs), optionalMs(metrics.tokenizeMs), optionalMs(metrics.queueMs),
                    optionalMs(metrics.prefillMs), optionalMs(metrics.firstSampleMs), optionalMs(metrics.tpotMs));
    text += fmt::format("prompt {} tokens", metrics.promptTokens);
    if (metrics.prefillTokensPerSecond)
        text += fmt::format(" at {:.1f}/s", *metrics.prefillTokensPerSecond);
    text += fmt::format(", answer {} tokens", metrics.outputTokens);
    if (metrics.decodeTokensPerSecond)
        text += fmt::format(" at {:.1f}/s", *metrics.decodeTokensPerSecond);
    text += fmt::format(", stopped by {}\n", stopReasonName(answer.trace.reason));
    text += fmt::format("{}, loaded in {:.0f} ms, cache {} bytes in {} blocks", model.description, model.loadMs,
                        metrics.kvBytes, metrics.kvBlocks);
    if (metrics.mbu)
        text += fmt::format(", MBU {:.0f} %", *metrics.mbu * 100);
    if (metrics.mfu)
        text += fmt::format(", MFU {:.0f} %", *metrics.mfu * 100);
    if (answer.sampling.temperature > 0 && answer.sampling.seed)
        text += fmt::format(", seed {}", *answer.sampling.seed);
    if (id > 0)
        text += fmt::format(", run {}", id);
    return text;
}

// Several answers: what differs a document each, the rest once.
json manyDocument(const std::vector<json>& documents)
{
    json all = documents.front();
    json answers = json::array();
    for (const json& document : documents) {
        json answer = json::object();
        for (const char* field : {"output_ids", "text", "stop_reason", "top_logits", "metrics", "run_id"}) {
            if (document.contains(field))
                answer[field] = document[field];
        }
        answers.push_back(std::move(answer));
    }
    for (const char* field : {"output_ids", "text", "stop_reason", "top_logits", "metrics"})
        all.erase(field);
    all["answers"] = std::move(answers);
    return all;
}

Result<int> run(const CommonOptions& options, const RunOptions& wanted)
{
    constexpr int kMostLogits = 1'000'000;
    if (wanted.topLogits < 0 || wanted.topLogits > kMostLogits)
        return fail(ErrorCode::BadSetting, "--top-logits {}: expected 0 to {}", wanted.topLogits, kMostLogits);
    const auto prompt = readPrompt(wanted);
    if (!prompt)
        return tl::unexpected(prompt.error());

    EngineSession session(options);
    if (auto loaded = session.load(options.settings.engine); !loaded)
        return tl::unexpected(loaded.error());

    const int count = options.settings.engine.batch;
    std::vector<RequestSpec> requests;
    for (int i = 0; i < count; ++i)
        requests.push_back({.prompt = prompt->request,
                            .sampling = options.settings.sampling,
                            .answerIndex = i,
                            .topLogits = wanted.topLogits});
    const std::int64_t startedMs = systemClock().wallMs();
    const bool streams = !options.json && count == 1;
    bool outputFine = true;
    std::size_t streamedBytes = 0;
    const auto answers = session.answer(std::move(requests), [&](const TokenCommitted& token) {
        if (!streams || token.text.empty())
            return true;
        streamedBytes += token.text.size();
        return outputFine = writeOut(token.text);
    });

    if (streams) {
        // What the stream held back (the beginning of a stop string, half a character) comes with the whole text.
        const std::string& text = answers.front().text;
        const std::string rest = text.substr(std::min(streamedBytes, text.size()));
        const bool needsEnd = !text.empty() && text.back() != '\n';
        outputFine = outputFine && writeOut(rest + (needsEnd ? "\n" : ""));
    }
    for (const RequestFinished& answer : answers) {
        if (answer.error)
            return tl::unexpected(*answer.error);
    }
    if (!streams && !options.json) {
        for (std::size_t i = 0; i < answers.size(); ++i)
            outputFine = outputFine && writeOut(fmt::format("[{}] {}\n", i + 1, answers[i].text));
    }

    const auto ceilings = session.ceilings();
    session.addHash();
    std::vector<json> documents;
    for (const RequestFinished& answer : answers) {
        const RequestMetrics metrics = computeMetrics(answer.trace, ceilings);
        RunRow row = makeRunRow("run", answer, session.model(), options.settings, metrics, startedMs);
        row.promptText = prompt->text;
        const RunId id = saveRun(options, std::move(row));
        if (options.json)
            documents.push_back(runDocument(answer, session.model(), options.settings, metrics, id));
        else if (!options.quiet)
            writeNote(summary(answer, metrics, session.model(), id));
    }
    if (options.json)
        outputFine = printJson(count == 1 ? documents.front() : manyDocument(documents));
    if (interrupted())
        return kInterrupted;
    if (!outputFine)
        return tl::unexpected(outputFailed());
    return kDone;
}

}  // namespace

void addRun(CommandLine& line)
{
    auto wanted = std::make_shared<RunOptions>();
    CLI::App& command = line.add("run", "answer a prompt and measure it",
                                 CommandLine::kOutput | CommandLine::kData | CommandLine::kModel |
                                     CommandLine::kEngine | CommandLine::kSaving,
                                 [wanted](const CommonOptions& options) { return run(options, *wanted); });
    command.add_option("--prompt", wanted->prompt, "the text to go on with");
    command.add_option("--prompt-file", wanted->promptFile, "a file with it, - is standard input");
    command.add_option("--ids", wanted->ids, "token ids instead, as 1,2,3");
    command.add_flag("--chat", wanted->chat, "put the prompt through the model's template as a user's message");
    command.add_option("--system", wanted->system, "a system message before it (implies --chat)");
    command.add_flag("--special", wanted->special, "text of special tokens in the prompt becomes those tokens");
    command.add_option("--top-logits", wanted->topLogits, "the largest logits of each output token (with --json)");
}

}  // namespace tokenscope::cli
