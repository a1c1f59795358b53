#include "tests/bench/window_recording.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>

namespace tokenscope::bench {
namespace {

constexpr std::size_t kMostTokens = 100'000;
constexpr Nanoseconds kSamplingNs = 60'000;  // of a step, for the split that the hover cards show

}  // namespace

Result<Recording> Recording::read(const std::filesystem::path& path)
{
    std::ifstream file(path);
    const nlohmann::json json = nlohmann::json::parse(file, nullptr, false);
    const auto wrong = [&] { return fail(ErrorCode::BadFile, path.string() + ": not a recording of window_bench"); };
    if (!json.is_object())
        return wrong();
    try {
        Recording read;
        read.model = json.at("model");
        read.text = json.at("text");
        read.promptTokens = json.at("prompt_tokens");
        read.weightBytes = json.at("weight_bytes");
        read.kvBytesPerToken = json.at("kv_bytes_per_token");
        read.firstTokenNs = json.at("first_token_us").get<Nanoseconds>() * 1000;
        read.textEnds = json.at("text_ends").get<std::vector<std::uint32_t>>();
        for (const Nanoseconds us : json.at("gaps_us").get<std::vector<Nanoseconds>>())
            read.gapsNs.push_back(us * 1000);
        const bool fits = !read.textEnds.empty() && read.textEnds.size() < kMostTokens &&
                          read.gapsNs.size() + 1 == read.textEnds.size() && read.textEnds.back() == read.text.size() &&
                          std::is_sorted(read.textEnds.begin(), read.textEnds.end());
        return fits ? Result<Recording>(std::move(read)) : wrong();
    } catch (const nlohmann::json::exception&) {
        return wrong();
    }
}

void Recording::append(const RequestFinished& finished, const LoadedModelInfo& info)
{
    const std::vector<TokenStamp>& tokens = finished.trace.tokens;
    if (tokens.size() < 2)
        return;
    const auto gapBefore = [&](std::size_t i) { return tokens[i].committedNs - tokens[i - 1].committedNs; };
    if (textEnds.empty()) {
        model = info.model.name;
        promptTokens = finished.trace.promptTokens;
        weightBytes = finished.trace.steps.back().weightBytes;
        kvBytesPerToken = info.budget.kvBytesPerToken;
        firstTokenNs = tokens.front().committedNs - finished.trace.submittedNs;
    } else {
        text += "\n\n";  // belongs to the token that follows
        gapsNs.push_back(gapBefore(1));
    }
    const auto before = static_cast<std::uint32_t>(text.size());
    text += finished.text;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        textEnds.push_back(before + tokens[i].textEnd);
        if (i > 0)
            gapsNs.push_back(gapBefore(i));
    }
    textEnds.back() = static_cast<std::uint32_t>(text.size());
}

std::string Recording::toJson() const
{
    std::vector<Nanoseconds> gapsUs;
    for (const Nanoseconds gap : gapsNs)
        gapsUs.push_back(gap / 1000);
    const nlohmann::ordered_json json{{"model", model},

                                      {"text", text},
                                      {"prompt_tokens", promptTokens},
                                      {"weight_bytes", weightBytes},
                                      {"kv_bytes_per_token", kvBytesPerToken},
                                      {"first_token_us", firstTokenNs / 1000},
                                      {"text_ends", textEnds},
                                      {"gaps_us", gapsUs}};
    return json.dump() + "\n";
}

ReplayEngine::ReplayEngine(Recording recording, double tokensPerSecond, int tokens, int atOnce)
    : m_recording(std::move(recording)), m_tokensPerSecond(tokensPerSecond), m_tokens(tokens), m_atOnce(atOnce)
{
}

void ReplayEngine::load(const std::filesystem::path& path, const EngineSettings&)
{
    m_modelText = std::make_shared<ModelText>();
    LoadedModelInfo info;
    info.model.path = path.string();
    info.model.name = m_recording.model;
    info.model.architecture = "llama";
    info.model.fileBytes = m_recording.weightBytes;
    info.model.bitsPerWeight = 5.7;
    info.model.mainType = "Q4_1";
    info.model.trainedContext = 32768;
    info.model.hasChatTemplate = true;
    info.model.runnable = true;
    info.budget = MemoryBudget{m_recording.weightBytes,
                               m_recording.kvBytesPerToken,
                               m_recording.kvBytesPerToken * 32768,
                               8'000'000,
                               22'870'000'000,
                               32768,
                               1};
    info.device = "CPU";
    info.isa = "avx512";
    info.description = "replay";
    info.threads = 1;
    info.context = 32768;
    info.blockCount = 1024;
    info.blockBytes = m_recording.kvBytesPerToken * 32;
    m_events.push_back(ModelLoaded{std::move(info)});
}

RequestId ReplayEngine::submit(RequestSpec)
{
    m_request = ++m_lastRequest;
    m_begun = std::chrono::steady_clock::now();
    m_text.clear();
    m_trace = {};
    m_trace.submittedNs = m_nowNs;
    m_trace.tokenisedNs = m_nowNs + 100'000;
    m_trace.admittedNs = m_nowNs + 150'000;
    m_trace.promptTokens = m_recording.promptTokens;
    m_events.push_back(
        RequestTokenised{m_request, m_recording.promptTokens, 0, {}, m_trace.submittedNs, *m_trace.tokenisedNs});
    const StepRecord step = nextStep(m_recording.firstTokenNs, m_recording.promptTokens);
    m_trace.chunks.push_back({step.endNs, m_recording.promptTokens, step.stepId});
    m_trace.steps.push_back(step);
    m_events.push_back(
        PrefillProgress{m_request, m_recording.promptTokens, m_recording.promptTokens, step, *m_trace.admittedNs});
    return m_request;
}

void ReplayEngine::cancel(RequestId request)
{
    if (request == m_request && m_request)
        finish(StopReason::Cancelled);
}

std::vector<Event> ReplayEngine::takeEvents()
{
    if (m_request) {
        const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - m_begun).count();
        const int due = m_atOnce + static_cast<int>(seconds * m_tokensPerSecond);
        while (committed() < std::min(due, m_tokens))
            commitToken();
        if (committed() >= m_tokens)
            finish(StopReason::Length);
    }
    std::vector<Event> taken(std::make_move_iterator(m_events.begin()), std::make_move_iterator(m_events.end()));
    m_events.clear();
    return taken;
}

StepRecord ReplayEngine::nextStep(Nanoseconds duration, int rows)
{
    StepRecord step;
    step.stepId = ++m_stepId;
    step.startNs = m_nowNs;
    m_nowNs += duration;
    step.computedNs = m_nowNs - std::min(kSamplingNs, duration);
    step.endNs = m_nowNs;
    step.rows = rows;
    step.prefillRows = rows > 1 ? rows : 0;
    step.sequences = 1;
    step.weightBytes = m_recording.weightBytes;
    const int held = m_recording.promptTokens + committed();
    step.kvReadBytes = m_recording.kvBytesPerToken * static_cast<std::uint64_t>(held);
    step.kvWriteBytes = m_recording.kvBytesPerToken * static_cast<std::uint64_t>(rows);
    step.newBlocks = held % 32 == 0 ? 1 : 0;
    step.kvBlocksUsed = held / 32 + 1;
    return step;
}

void ReplayEngine::commitToken()
{
    const std::size_t count = m_recording.textEnds.size();
    const std::size_t place = m_trace.tokens.size() % count;
    if (place == 0 && !m_trace.tokens.empty())
        m_text += "\n\n";
    const std::uint32_t from = place == 0 ? 0 : m_recording.textEnds[place - 1];
    std::string piece = m_recording.text.substr(from, m_recording.textEnds[place] - from);
    const StepRecord step = nextStep(m_recording.gapsNs[std::max<std::size_t>(place, 1) - 1], 1);
    TokenStamp stamp;
    stamp.id = static_cast<TokenId>(place);
    stamp.committedNs = m_nowNs;
    stamp.stepId = step.stepId;
    stamp.textBegin = static_cast<std::uint32_t>(m_text.size());
    stamp.textEnd = static_cast<std::uint32_t>(m_text.size() + piece.size());
    const bool again = place == 0 && !m_trace.tokens.empty();
    m_text += piece;
    m_trace.tokens.push_back(stamp);
    m_trace.steps.push_back(step);
    m_events.push_back(TokenCommitted{m_request, stamp, step, again ? "\n\n" + piece : std::move(piece)});
}

void ReplayEngine::finish(StopReason reason)
{
    RequestFinished finished;
    finished.request = m_request;
    m_trace.reason = reason;
    m_trace.stoppedNs = m_trace.teardownNs = m_nowNs;
    finished.trace = m_trace;
    finished.text = m_text;
    m_events.push_back(std::move(finished));
    m_request = 0;
}

}  // namespace tokenscope::bench
