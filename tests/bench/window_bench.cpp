// What the window costs. Two measurements, each with the real main window:
//
//   window_bench replay   recorded events at 140 tokens/s: the GUI thread's processor time and its longest pause
//   window_bench speed    the engine's decode speed with the window hidden and shown in turns, in a new and a long chat
//   window_bench record   makes the recording that `replay` plays
//
// Offscreen unless QT_QPA_PLATFORM says otherwise. Run it on a quiet machine; no test depends on its numbers.
#include "app/services/machine_service.h"
#include "tests/bench/paired_ratio.h"
#include "tests/bench/window_clock.h"
#include "tests/bench/window_recording.h"
#include "tests/bench/window_stage.h"
#include "tests/support/test_data.h"
#include "tests/support/test_model.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <QTimer>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>

namespace tokenscope::bench {
namespace {

using nlohmann::ordered_json;

constexpr int kFailed = 1;
constexpr int kSkipped = 77;  // as CTest knows it
constexpr double kGuiLimitMsPerSecond = 150.0, kPauseLimitMs = 50.0;
constexpr int kSettleMs = 300;  // between measurements: what the last one left behind is done
// Answers with headings, lists and code: what a reader asks for and what costs the window most.
constexpr std::array kPrompts{
    "Write a long tutorial about sorting algorithms in Markdown, with headings, lists, and a Python code block for "
    "each "
    "algorithm.",
    "Explain step by step how a rainbow comes about. Use headings and bullet points.",
    "Write a Python class for a bank account with comments, then explain every method.",
    "Compare three ways to store data in a program: a list, a dictionary and a database. Give an example of each.",
    "Describe how bread is baked, with a list of ingredients and numbered steps.",
    "Write an essay about the history of the telescope in six paragraphs."};

struct Options {
    std::string model, recording, json;
    double rate = 140.0, seconds = 10.0;
    int atOnce = 0, chatTokens = 0;
    int threads = 0, rounds = 2, tokens = 1000;
};

int complain(const Error& error)
{
    fmt::print(stderr, "window_bench: {}\n", error.message);
    return kFailed;
}

bool writeJson(const std::string& path, const ordered_json& json)
{
    if (path.empty())
        return true;
    std::ofstream file(path);
    file << json.dump(1) << '\n';
    if (!file.flush())
        fmt::print(stderr, "window_bench: {} could not be written\n", path);
    return file.good();
}

// --model, else the published one; "tiny" is made on the spot.
std::optional<std::filesystem::path> modelFile(const Options& options, const test::TempFolder& folder)
{
    if (options.model == "tiny") {
        test::makeTestModel().write(folder.file("tiny.gguf"));
        return folder.file("tiny.gguf");
    }
    return options.model.empty() ? test::smollm2() : std::optional<std::filesystem::path>(options.model);
}

bool loadModel(WindowStage& stage, const std::filesystem::path& path)
{
    std::optional<bool> loaded;
    QObject::connect(&stage.model, &ui::ModelController::loadEnded, &stage.window,
                     [&](bool success) { loaded = success; });
    QObject::connect(&stage.model, &ui::ModelController::failed, &stage.window,
                     [](const QString& sentence) { fmt::print(stderr, "window_bench: {}\n", sentence.toStdString()); });
    stage.model.load(QString::fromStdString(path.string()));
    WindowStage::runUntil([&] { return loaded.has_value(); });
    return *loaded;
}

int replay(GuiClock& clock, const Options& options)
{
    Result<Recording> recording = Recording::read(options.recording.empty() ? test::dataPath("window_answer.json")
                                                                            : std::filesystem::path(options.recording));
    if (!recording)
        return complain(recording.error());
    const int tokens = options.atOnce + static_cast<int>(options.rate * options.seconds);
    ReplayEngine engine(std::move(*recording), options.rate, tokens, options.atOnce);
    WindowStage stage(engine);
    if (!loadModel(stage, "replay.gguf"))
        return kFailed;
    if (options.chatTokens > 0)
        if (const Result<void> opened = stage.openLongChat(options.chatTokens); !opened)
            return complain(opened.error());
    stage.window.show();
    WindowStage::runFor(kSettleMs);
    stage.window.chatPage().sendPrompt(QStringLiteral("Tell me about sorting."));
    // What is there at the beginning is not part of what streams.
    WindowStage::runFor(options.atOnce > 0 ? 3 * kSettleMs : 0);
    clock.begin();
    WindowStage::runUntil([&] { return engine.committed() >= tokens || !stage.session.answering(); });
    const GuiTimes times = clock.end();
    // The end of the answer (its run is saved, its figures appear) is looked at apart.
    clock.begin();
    WindowStage::runUntil([&] { return !stage.session.answering(); });
    WindowStage::runFor(kSettleMs);
    const GuiTimes ending = clock.end();

    fmt::print("replay: {:.1f} s at {:.0f} tokens/s, {} tokens before, a chat of {} tokens above\n", times.seconds,
               options.rate, options.atOnce, options.chatTokens);
    fmt::print("  GUI thread        {:7.1f} ms of CPU a second   (limit {:.0f})\n", times.cpuMsPerSecond,
               kGuiLimitMsPerSecond);
    fmt::print("  longest wait      {:7.1f} ms                   (limit {:.0f})\n", times.longestWaitMs, kPauseLimitMs);
    fmt::print("  longest event     {:7.1f} ms   {}\n", times.longestEventMs, times.longestEvent);
    fmt::print("  longest repaint   {:7.1f} ms   of {}\n", times.longestFrameMs, times.frames);
    fmt::print("  at its end        {:7.1f} ms   {}\n", ending.longestEventMs, ending.longestEvent);
    std::vector<std::pair<double, std::string>> most;
    for (const auto& [event, ms] : times.cpuMsByEvent)
        most.emplace_back(ms, event);
    std::sort(most.rbegin(), most.rend());
    ordered_json byEvent = ordered_json::object();
    for (const auto& [ms, event] : most) {
        if (byEvent.size() < 6)
            fmt::print("    {:7.1f} ms/s  {}\n", ms / times.seconds, event);
        byEvent[event] = ms / times.seconds;
    }
    const bool written = writeJson(options.json, {{"measurement", "replay"},
                                                  {"tokens_per_second", options.rate},
                                                  {"seconds", times.seconds},
                                                  {"tokens_before", options.atOnce},
                                                  {"chat_tokens", options.chatTokens},
                                                  {"gui_cpu_ms_per_second", times.cpuMsPerSecond},
                                                  {"longest_wait_ms", times.longestWaitMs},
                                                  {"longest_event_ms", times.longestEventMs},
                                                  {"longest_event", times.longestEvent},
                                                  {"longest_repaint_ms", times.longestFrameMs},
                                                  {"repaints", times.frames},
                                                  {"longest_event_at_end_ms", ending.longestEventMs},
                                                  {"cpu_ms_per_second_by_event", byEvent}});
    return written ? 0 : kFailed;
}

// Every request asks the same of the real engine, whatever chat is shown: only the window differs between conditions.
class SamePromptEngine : public EnginePort {
public:
    SamePromptEngine(EnginePort& engine, int tokens) : m_engine(engine), m_tokens(tokens) {}

    RequestSpec spec() const
    {
        RequestSpec spec;
        spec.prompt = m_engine.modelText() && m_engine.modelText()->chatTemplate
                          ? decltype(spec.prompt)(ChatPrompt{.messages = {{"user", kPrompts.front()}}})
                          : decltype(spec.prompt)(TextPrompt{.text = kPrompts.front()});
        spec.sampling.temperature = 0.0;
        spec.sampling.ignoreEos = true;
        spec.sampling.maxTokens = m_tokens;
        return spec;
    }
    void load(const std::filesystem::path& path, const EngineSettings& settings) override
    {
        m_engine.load(path, settings);
    }
    void cancelLoad() override { m_engine.cancelLoad(); }
    void unload() override { m_engine.unload(); }
    RequestId submit(RequestSpec) override { return m_engine.submit(spec()); }
    void cancel(RequestId request) override { m_engine.cancel(request); }
    std::vector<Event> takeEvents() override { return m_engine.takeEvents(); }
    bool waitForEvents(std::chrono::milliseconds timeout) override { return m_engine.waitForEvents(timeout); }
    std::shared_ptr<const ModelText> modelText() const override { return m_engine.modelText(); }

private:
    EnginePort& m_engine;
    int m_tokens;
};

// A stretch of an answer during which the window was hidden or shown.
struct Stretch {
    bool shown = false;
    Nanoseconds from = 0, to = 0;
};

constexpr int kQuietMs = 100;    // after the window was shown or hidden: its first picture is not what is measured
constexpr int kStretchMs = 300;  // measured then; short, because a machine shared with others changes by the second

// While an answer is written, hides and shows the window in turns.
class Alternation : public QObject {
public:
    explicit Alternation(QWidget& window) : m_window(window)
    {
        QObject::connect(&m_timer, &QTimer::timeout, this, [this] { next(); });
        next();
        m_timer.start(kQuietMs + kStretchMs);
    }
    const std::vector<Stretch>& stretches() const { return m_stretches; }

private:
    void next()
    {
        const Nanoseconds now = systemClock().now();
        if (!m_stretches.empty())
            m_stretches.back().to = now;
        // Hidden, shown, shown, hidden: what changes steadily (the cache grows) strikes both alike.
        const std::size_t turn = m_stretches.size() % 4;
        const bool shown = turn == 1 || turn == 2;
        m_stretches.push_back({shown, now + kQuietMs * Nanoseconds{1'000'000}, 0});
        m_window.setVisible(shown);
    }

    QWidget& m_window;
    QTimer m_timer;
    std::vector<Stretch> m_stretches;
};

// Tokens a second within a stretch, by the engine's time stamps; 0: too few.
double speedIn(const Stretch& stretch, const std::vector<TokenStamp>& tokens)
{
    const auto inside = [&](const TokenStamp& token) {
        return token.committedNs >= stretch.from && token.committedNs <= stretch.to;
    };
    const auto first = std::find_if(tokens.begin(), tokens.end(), inside);
    const auto last = std::find_if(tokens.rbegin(), tokens.rend(), inside);
    if (first == tokens.end() || last == tokens.rend() || last->committedNs <= first->committedNs)
        return 0.0;
    return static_cast<double>(&*last - &*first) * 1e9 / static_cast<double>(last->committedNs - first->committedNs);
}

struct PairedSpeeds {
    std::vector<double> hidden, shown;  // one of each a pair, neighbours in time
};

// One answer; adds its pairs.
bool measureAnswer(WindowStage& stage, PairedSpeeds& speeds)
{
    std::optional<RequestTrace> trace;
    const auto connection =
        QObject::connect(&stage.bridge, &EngineBridge::events, &stage.window, [&](const std::vector<Event>& batch) {
            for (const Event& event : batch)
                if (const auto* finished = std::get_if<RequestFinished>(&event))
                    trace = finished->trace;
        });
    if (!stage.session.send(QStringLiteral("The same question.")))
        return false;
    Alternation alternation(stage.window);
    WindowStage::runUntil([&] { return trace && !stage.session.answering(); });
    QObject::disconnect(connection);
    const std::vector<Stretch>& stretches = alternation.stretches();
    for (std::size_t i = 0; i + 1 < stretches.size(); i += 2) {
        if (trace->tokens.empty() || stretches[i].from < trace->tokens.front().committedNs ||
            stretches[i + 1].to == 0 || stretches[i + 1].to > trace->tokens.back().committedNs)
            continue;  // the prompt was read in it, or the answer ended
        const double first = speedIn(stretches[i], trace->tokens), second = speedIn(stretches[i + 1], trace->tokens);
        if (first <= 0.0 || second <= 0.0)
            continue;
        speeds.hidden.push_back(stretches[i].shown ? second : first);
        speeds.shown.push_back(stretches[i].shown ? first : second);
    }
    return !trace->tokens.empty();
}

double median(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    return values.empty() ? 0.0 : values[values.size() / 2];
}

// Of an earlier call with the same settings, so that a long measurement can be made in short pieces.
void takeEarlier(const Options& options, const ordered_json& what, std::map<std::string, PairedSpeeds>& speeds)
{
    std::ifstream file(options.json);
    const ordered_json earlier = ordered_json::parse(file, nullptr, false);
    if (!earlier.is_object() || earlier.value("settings", ordered_json()) != what)
        return;
    for (const auto& [chat, measured] : earlier["chats"].items()) {
        speeds[chat].hidden = measured["hidden"].get<std::vector<double>>();
        speeds[chat].shown = measured["shown"].get<std::vector<double>>();
    }
}

int measureSpeed(const Options& options)
{
    const test::TempFolder folder;
    const auto path = modelFile(options, folder);
    if (!path) {
        fmt::print("SKIPPED: {}\n", test::kNoModel);
        return kSkipped;
    }
    const std::unique_ptr<EnginePort> engine = makeEngine();
    SamePromptEngine same(*engine, options.tokens);
    WindowStage stage(same);
    const int cores = describeMachine().cores;
    const int threads = options.threads > 0 ? options.threads : std::max(1, cores - 1);
    if (const Result<void> set = stage.settings.set("threads", std::to_string(threads)); !set)
        return complain(set.error());
    if (!loadModel(stage, *path))
        return kFailed;

    const ordered_json what{{"model", path->filename().string()},
                            {"threads", threads},
                            {"cores", cores},
                            {"answer_tokens", options.tokens},
                            {"chat_tokens", options.chatTokens}};
    std::map<std::string, PairedSpeeds> speeds;
    takeEarlier(options, what, speeds);
    for (int round = 0; round < options.rounds; ++round)
        for (const bool longChat : {round % 2 == 0, round % 2 != 0}) {
            if (!longChat)
                stage.session.newConversation();
            else if (const Result<void> opened = stage.openLongChat(options.chatTokens); !opened)
                return complain(opened.error());
            WindowStage::runFor(kSettleMs);
            if (!measureAnswer(stage, speeds[longChat ? "long" : "new"])) {
                fmt::print(stderr, "window_bench: the model gave no answer\n");
                return kFailed;
            }
        }

    fmt::print("speed: {}, {} threads, {} cores, answers of {} tokens\n", path->filename().string(), threads, cores,
               options.tokens);
    fmt::print("  {:<24} {:>8} {:>8} {:>6}   {}\n", "tokens/s", "hidden", "shown", "pairs", "shown / hidden (95 %)");
    ordered_json chats = ordered_json::object();
    for (const auto& [chat, measured] : speeds) {
        const std::string name = chat == "long" ? fmt::format("a chat of {} tokens", options.chatTokens) : "a new chat";
        fmt::print("  {:<24} {:>8.1f} {:>8.1f} {:>6}   ", name, median(measured.hidden), median(measured.shown),
                   measured.hidden.size());
        chats[chat] = {{"hidden", measured.hidden}, {"shown", measured.shown}};
        if (measured.hidden.empty()) {
            fmt::print("answers too short to tell\n");
            continue;
        }
        const PairedRatio ratio = pairedRatio(measured.shown, measured.hidden);
        fmt::print("{:.4f} ({:.4f} … {:.4f})\n", ratio.ratio, ratio.low, ratio.high);
        chats[chat]["shown_to_hidden"] = {ratio.ratio, ratio.low, ratio.high};
    }
    const bool written = writeJson(options.json, {{"measurement", "speed"}, {"settings", what}, {"chats", chats}});
    return written ? 0 : kFailed;
}

int record(const Options& options)
{
    const test::TempFolder folder;
    const auto path = modelFile(options, folder);
    if (!path) {
        fmt::print("SKIPPED: {}\n", test::kNoModel);
        return kSkipped;
    }
    const std::unique_ptr<EnginePort> engine = makeEngine();
    engine->load(*path, {});
    LoadedModelInfo info;
    Recording recording;
    std::size_t prompt = 0;
    const auto ask = [&] {
        RequestSpec spec;
        spec.prompt = ChatPrompt{.messages = {{"user", kPrompts[prompt++]}}};
        spec.sampling.seed = 1;
        spec.sampling.maxTokens = 500;
        engine->submit(std::move(spec));
    };
    for (;;) {
        engine->waitForEvents(std::chrono::seconds(1));
        for (const Event& event : engine->takeEvents()) {
            if (const auto* failure = std::get_if<ModelLoadFailed>(&event))
                return complain(failure->error);
            if (const auto* loaded = std::get_if<ModelLoaded>(&event)) {
                info = loaded->info;
                ask();
            }
            const auto* finished = std::get_if<RequestFinished>(&event);
            if (!finished)
                continue;
            if (finished->error)
                return complain(*finished->error);
            recording.append(*finished, info);
            if (prompt < kPrompts.size()) {
                ask();
                continue;
            }
            std::ofstream file(options.recording);
            file << recording.toJson();
            return file.flush() ? 0 : kFailed;
        }
    }
}

int run(int argc, char** argv)
{
    Options options;
    CLI::App parser("What the window costs the GUI thread and the engine");
    parser.require_subcommand(1);
    parser.fallthrough();  // --json may stand after the measurement's name, too
    parser.add_option("--json", options.json, "Write the numbers there; `speed` adds to what is there");

    CLI::App* replayCommand = parser.add_subcommand("replay", "Recorded events in the real window");
    replayCommand->add_option("--recording", options.recording, "Instead of tests/data/window_answer.json");
    replayCommand->add_option("--rate", options.rate, "Tokens a second")->check(CLI::Range(1.0, 10000.0));
    replayCommand->add_option("--seconds", options.seconds)->check(CLI::Range(0.1, 600.0));
    replayCommand->add_option("--before", options.atOnce, "Tokens the answer has at the beginning");
    replayCommand->add_option("--chat-tokens", options.chatTokens, "Length of the chat the answer is added to");

    CLI::App* speedCommand = parser.add_subcommand("speed", "Decode speed by what the window shows");
    speedCommand->add_option("--model", options.model, "A .gguf file, or tiny; default: SmolLM2 where it was fetched");
    speedCommand->add_option("--threads", options.threads, "Default: physical cores - 1");
    speedCommand->add_option("--rounds", options.rounds, "Answers in each chat")->check(CLI::Range(1, 1000));
    speedCommand->add_option("--tokens", options.tokens, "Of each answer")->check(CLI::Range(2, 4000));
    int chatTokens = 20'000;
    speedCommand->add_option("--chat-tokens", chatTokens, "Length of the long chat");

    CLI::App* recordCommand =
        parser.add_subcommand("record", "Make a recording with a real model that has a chat template");
    recordCommand->add_option("FILE", options.recording)->required();
    recordCommand->add_option("--model", options.model);
    CLI11_PARSE(parser, argc, argv);

    if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM"))
        qputenv("QT_QPA_PLATFORM", "offscreen");
    GuiClock clock(argc, argv);
    if (recordCommand->parsed())
        return record(options);
    if (speedCommand->parsed()) {
        options.chatTokens = chatTokens;
        return measureSpeed(options);
    }
    return replay(clock, options);
}

}  // namespace
}  // namespace tokenscope::bench

int main(int argc, char** argv)
{
    return tokenscope::bench::run(argc, argv);
}
