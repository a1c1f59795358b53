// An engine that answers with a text of the test's choosing, split into tokens of a few characters. It makes its events
// when they are taken: `tokensPerTake` a call, so that a test decides how far an answer is.
#pragma once

#include "engine/engine.h"

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

namespace tokenscope::test {

class ScriptedEngine : public EnginePort {
public:
    std::string answer = "The **quick** brown fox.\n\n```cpp\nint a = 1;\n```\n\nDone.";
    int tokensPerTake = 4;
    bool failLoads = false;
    std::vector<RequestSpec> submitted;

    void load(const std::filesystem::path& path, const EngineSettings&) override
    {
        m_modelText.reset();
        m_events.push_back(ModelLoading{0.5});
        if (failLoads) {
            m_events.push_back(ModelLoadFailed{
                path.string(), Error{ErrorCode::BadFile, path.filename().string() + ": not a GGUF file"}});
            return;
        }
        m_modelText = std::make_shared<ModelText>();
        m_events.push_back(ModelLoaded{modelInfo(path.string())});
    }
    void cancelLoad() override {}
    void unload() override
    {
        m_modelText.reset();
        m_events.push_back(ModelUnloaded{});
    }
    RequestId submit(RequestSpec spec) override
    {
        submitted.push_back(std::move(spec));
        m_request = ++m_lastRequest;
        m_trace = RequestTrace{};
        m_trace.submittedNs = now();
        m_trace.tokenisedNs = now() + 200'000;
        m_trace.admittedNs = now() + 400'000;
        m_trace.promptTokens = 41;
        m_trace.cachedTokens = 12;
        m_place = 0;
        m_events.push_back(RequestTokenised{m_request, 41, 0, {}});
        StepRecord step = nextStep(29);
        m_trace.chunks.push_back({step.endNs, 29, step.stepId});
        m_trace.steps.push_back(step);
        m_events.push_back(PrefillProgress{m_request, 41, 41, step});
        return m_request;
    }
    void cancel(RequestId request) override
    {
        if (request == m_request)
            finish(StopReason::Cancelled);
    }
    std::vector<Event> takeEvents() override
    {
        for (int i = 0; i < tokensPerTake && m_request; ++i)
            commitToken();
        std::vector<Event> taken(m_events.begin(), m_events.end());
        m_events.clear();
        return taken;
    }
    bool waitForEvents(std::chrono::milliseconds) override { return true; }
    std::shared_ptr<const ModelText> modelText() const override { return m_modelText; }

    static LoadedModelInfo modelInfo(const std::string& path)
    {
        LoadedModelInfo info;
        info.model.path = path;
        info.model.name = "SmolLM2-135M-Instruct";
        info.model.architecture = "llama";
        info.model.fileBytes = 96'640'000;
        info.model.bitsPerWeight = 5.7;
        info.model.tensorMix = "Q4_1 210, F32 61, Q8_0 1";
        info.model.mainType = "Q4_1";
        info.model.trainedContext = 8192;
        info.model.hasChatTemplate = true;
        info.model.runnable = true;
        info.budget = MemoryBudget{96'640'000, 23040, 188'743'680, 8'000'000, 22'870'000'000, 8192, 1};
        info.device = "CPU";
        info.isa = "avx512";
        info.description = "CPU · AVX-512 VNNI · 2 threads";
        info.threads = 2;
        info.context = 8192;
        info.blockCount = 256;
        info.blockBytes = 737280;
        info.loadMs = 320;
        return info;
    }

private:
    Nanoseconds now() const { return m_now; }
    StepRecord nextStep(int rows)
    {
        StepRecord step;
        step.stepId = ++m_stepId;
        step.startNs = m_now;
        m_now += rows * 3'000'000 / 2 + 4'000'000 + (m_stepId % 7) * 300'000;
        step.computedNs = m_now - 200'000;
        step.endNs = m_now;
        step.rows = rows;
        step.prefillRows = rows > 1 ? rows : 0;
        step.sequences = 1;
        step.weightBytes = 96'000'000;
        step.kvReadBytes = 940'000;
        step.kvWriteBytes = 23040;
        step.macs = 135'000'000;
        step.newBlocks = m_stepId % 32 == 0 ? 1 : 0;
        step.kvBlocksUsed = 2 + static_cast<int>(m_stepId / 32);
        return step;
    }
    void commitToken()
    {
        if (m_place >= answer.size()) {
            finish(StopReason::Eos);
            return;
        }
        std::size_t end = std::min(answer.size(), m_place + 4);
        if (const std::size_t space = answer.find(' ', m_place + 1); space != std::string::npos)
            end = std::min(end + 3, space);
        while (end < answer.size() && (static_cast<unsigned char>(answer[end]) & 0xC0) == 0x80)
            ++end;
        const StepRecord step = nextStep(1);
        TokenStamp stamp;
        stamp.id = 100 + static_cast<TokenId>(m_place);
        stamp.committedNs = m_now;
        stamp.stepId = step.stepId;
        stamp.textBegin = static_cast<std::uint32_t>(m_place);
        stamp.textEnd = static_cast<std::uint32_t>(end);
        m_trace.tokens.push_back(stamp);
        m_trace.steps.push_back(step);
        m_events.push_back(TokenCommitted{m_request, stamp, step, answer.substr(m_place, end - m_place)});
        m_place = end;
    }
    void finish(StopReason reason)
    {
        RequestFinished finished;
        finished.request = m_request;
        m_trace.reason = reason;
        m_trace.stoppedNs = m_now;
        m_trace.teardownNs = m_now;
        finished.trace = m_trace;
        finished.text = answer.substr(0, m_place);
        m_events.push_back(finished);
        m_request = 0;
    }

    std::shared_ptr<const ModelText> m_modelText;
    std::deque<Event> m_events;
    RequestId m_request = 0, m_lastRequest = 0;
    RequestTrace m_trace;
    std::size_t m_place = 0;
    Nanoseconds m_now = 1'000'000'000;
    std::uint32_t m_stepId = 0;
};

}  // namespace tokenscope::test
