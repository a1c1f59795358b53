#include "app/cli/command_line.h"
#include "app/cli/commands.h"
#include "app/cli/engine_session.h"
#include "app/services/run_documents.h"
#include "engine/tokenizer/tokenizer.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include <CLI/App.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tokenscope::cli {
namespace {

using nlohmann::json;

struct PerplexityOptions {
    std::string file;
    int window = 512;
    int windows = 0;  // 0 = all
};

// Consecutive, not overlapping; where the model wants a BOS each begins with it and takes one token less of the text.
// The last may be shorter; one in which nothing could be scored is left out.
std::vector<std::vector<TokenId>> cutWindows(const std::vector<TokenId>& text, const Tokenizer& tokenizer,
                                             const PerplexityOptions& wanted)
{
    const bool hasBos = tokenizer.addsBos() && tokenizer.bos();
    const std::size_t ofText = static_cast<std::size_t>(wanted.window) - (hasBos ? 1 : 0);
    std::vector<std::vector<TokenId>> windows;
    for (std::size_t at = 0; at < text.size(); at += ofText) {
        if (wanted.windows > 0 && windows.size() == static_cast<std::size_t>(wanted.windows))
            break;
        std::vector<TokenId> ids;
        if (hasBos)
            ids.push_back(*tokenizer.bos());
        const auto end = std::min(at + ofText, text.size());
        ids.insert(ids.end(), text.begin() + static_cast<std::ptrdiff_t>(at),
                   text.begin() + static_cast<std::ptrdiff_t>(end));
        if (ids.size() >= 2)
            windows.push_back(std::move(ids));
    }
    return windows;
}

struct WindowScore {
    std::size_t tokens = 0;
    std::size_t scored = 0;
    double nll = 0.0;  // sum
};

// "2 windows of 512 tokens, the last of 130", "1 window of 130 tokens"
std::string windowsText(const std::vector<WindowScore>& windows)
{
    const std::size_t longest = windows.front().tokens, last = windows.back().tokens;
    std::string text =
        fmt::format("{} {} of {} tokens", windows.size(), windows.size() == 1 ? "window" : "windows", longest);
    return last == longest ? text : text + fmt::format(", the last of {}", last);
}

json resultDocument(const std::vector<WindowScore>& windows)
{
    json list = json::array();
    double sum = 0.0;
    std::size_t scored = 0;
    for (const WindowScore& window : windows) {
        list.push_back({{"tokens", window.tokens},
                        {"scored", window.scored},
                        {"mean_nll", window.nll / static_cast<double>(window.scored)}});
        sum += window.nll;
        scored += window.scored;
    }
    const double mean = sum / static_cast<double>(scored);
    return {{"windows", std::move(list)}, {"mean_nll", mean}, {"perplexity", std::exp(mean)}};
}

Result<int> perplexity(const CommonOptions& options, const PerplexityOptions& wanted)
{
    if (wanted.window < 2 || wanted.window > 1 << 20)
        return fail(ErrorCode::BadSetting, "--window {}: expected 2 to {} tokens", wanted.window, 1 << 20);
    if (wanted.windows < 0)
        return fail(ErrorCode::BadSetting, "--windows {}: expected 1 or more", wanted.windows);
    const auto text = readTextFile(wanted.file);
    if (!text)
        return tl::unexpected(text.error());

    EngineSettings engine = options.settings.engine;
    constexpr int kLeastContext = 32;
    if (engine.context == 0)
        engine.context = std::max(wanted.window, kLeastContext);
    if (engine.context < wanted.window)
        return fail(ErrorCode::BadSetting, "--window {}: the context holds {} tokens (--context)", wanted.window,
                    engine.context);
    EngineSession session(options);
    if (auto loaded = session.load(engine); !loaded)
        return tl::unexpected(loaded.error());
    const auto& tokenizer = *session.port().modelText()->tokenizer;
    const EncodedText encoded = tokenizer.encode(*text, false);
    const auto windows = cutWindows(encoded.ids, tokenizer, wanted);
    if (windows.empty())
        return fail(ErrorCode::BadInput,
                    "{}: its text gives {} tokens, and scoring needs at least 2: give a longer text", wanted.file,
                    encoded.ids.size());
    if (encoded.droppedBytes > 0 && !options.quiet)
        writeError(fmt::format("note: {} bytes that the vocabulary lacks were dropped", encoded.droppedBytes));

    const std::int64_t startedMs = systemClock().wallMs();
    std::vector<WindowScore> scores;
    for (const auto& ids : windows) {
        {
            Progress progress(options.quiet);
            progress.show(fmt::format("Window {} of {}", scores.size() + 1, windows.size()));
            auto answers = session.answer({RequestSpec{.prompt = ScorePrompt{.ids = ids}}});
            const RequestFinished& answer = answers.front();
            if (answer.error)
                return tl::unexpected(*answer.error);
            if (interrupted())
                return kInterrupted;
            WindowScore score{.tokens = ids.size(), .scored = answer.scores.size()};
            for (const TokenScore& token : answer.scores)
                score.nll -= token.logProbability;
            scores.push_back(score);
        }
        if (!options.json && !options.quiet)
            writeNote(fmt::format("window {}: {} tokens, mean nll {:.6f}", scores.size(), ids.size(),
                                  scores.back().nll / static_cast<double>(scores.back().scored)));
    }

    json result = resultDocument(scores);
    session.addHash();
    Settings used = options.settings;
    used.engine = engine;
    RunRow row;
    row.kind = "perplexity";
    row.startedMs = startedMs;
    row.modelName = session.model().model.name;
    row.modelPath = session.model().model.path;
    row.modelSha256 = session.model().model.sha256;
    row.configJson = storedText(configDocument(used, session.model()));
    row.environmentJson = storedText(environmentDocument(session.model()));
    row.metricsJson = storedText({{"mean_nll", result["mean_nll"]}, {"perplexity", result["perplexity"]}});
    row.resultJson = storedText(result);
    const RunId id = saveRun(options, std::move(row));
    if (id > 0)
        result["run_id"] = std::to_string(id);

    const bool written =
        options.json
            ? printJson(result)
            : writeOut(fmt::format("perplexity {:.4f} (mean nll {:.6f}, {})\n", result["perplexity"].get<double>(),
                                   result["mean_nll"].get<double>(), windowsText(scores)));
    if (!written)
        return tl::unexpected(outputFailed());
    return kDone;
}

}  // namespace

void addPerplexity(CommandLine& line)
{
    auto wanted = std::make_shared<PerplexityOptions>();
    CLI::App& command = line.add("perplexity", "how well the model predicts a text",
                                 CommandLine::kOutput | CommandLine::kData | CommandLine::kModel |
                                     CommandLine::kEngine | CommandLine::kSaving,
                                 [wanted](const CommonOptions& options) { return perplexity(options, *wanted); });
    command.add_option("--file", wanted->file, "the text, - is standard input")->required();
    command.add_option("--window", wanted->window, "tokens of a window [512]");
    command.add_option("--windows", wanted->windows, "at most this many [all]");
    CommandLine::addAbsentOptions(command, {"against"});
}

}  // namespace tokenscope::cli
