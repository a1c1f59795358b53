// A recorded answer and an engine that plays it: the events of a real run, delivered at a rate of the caller's choosing
// with the times they were recorded with.
#pragma once

#include "engine/engine.h"

#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace tokenscope::bench {

// One long answer, or several one after the other.
struct Recording {
    std::string model, text;
    int promptTokens = 0;
    std::uint64_t weightBytes = 0;
    std::uint64_t kvBytesPerToken = 0;
    Nanoseconds firstTokenNs = 0;         // after submit
    std::vector<std::uint32_t> textEnds;  // of each token, in bytes of the text
    std::vector<Nanoseconds> gapsNs;      // before each token but the first

    static Result<Recording> read(const std::filesystem::path& path);
    // Adds an answer after the ones before it, as if all were one.
    void append(const RequestFinished& finished, const LoadedModelInfo& info);
    std::string toJson() const;
};

class ReplayEngine : public EnginePort {
public:
    // Recordings shorter than `tokens` begin again. The first `atOnce` tokens come in one batch.
    ReplayEngine(Recording recording, double tokensPerSecond, int tokens, int atOnce);

    void load(const std::filesystem::path& path, const EngineSettings& settings) override;
    void cancelLoad() override {}
    void unload() override {}
    RequestId submit(RequestSpec spec) override;
    void cancel(RequestId request) override;
    std::vector<Event> takeEvents() override;
    bool waitForEvents(std::chrono::milliseconds) override { return true; }
    std::shared_ptr<const ModelText> modelText() const override { return m_modelText; }

    int committed() const { return static_cast<int>(m_trace.tokens.size()); }

private:
    void commitToken();
    void finish(StopReason reason);
    StepRecord nextStep(Nanoseconds duration, int rows);

    Recording m_recording;
    double m_tokensPerSecond;
    int m_tokens;
    int m_atOnce;
    std::shared_ptr<const ModelText> m_modelText;
    std::deque<Event> m_events;
    RequestId m_request = 0, m_lastRequest = 0;
    std::chrono::steady_clock::time_point m_begun;
    RequestTrace m_trace;
    std::string m_text;
    Nanoseconds m_nowNs = 0;
    std::uint32_t m_stepId = 0;
};

}  // namespace tokenscope::bench
