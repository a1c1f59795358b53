// An engine whose events the test writes itself: it records what it is asked and computes nothing.
#pragma once

#include "engine/engine.h"

#include <string>
#include <string_view>
#include <vector>

namespace tokenscope::test {

// A clock that a test moves by hand.
class FakeClock : public Clock {
public:
    Nanoseconds now() const override { return nowNs; }
    std::int64_t wallMs() const override { return 1'700'000'000'000 + nowNs / 1'000'000; }
    Nanoseconds nowNs = 1'000'000'000;
};

class FakeEngine : public EnginePort {
public:
    FakeEngine();

    void load(const std::filesystem::path& path, const EngineSettings& settings) override;
    void cancelLoad() override { ++cancelledLoads; }
    void unload() override {}
    RequestId submit(RequestSpec spec) override;
    void cancel(RequestId request) override { cancelled.push_back(request); }
    std::vector<Event> takeEvents() override;
    bool waitForEvents(std::chrono::milliseconds timeout) override;
    std::shared_ptr<const ModelText> modelText() const override { return text; }

    std::vector<RequestSpec> submitted;  // request 1 is submitted[0]
    std::vector<RequestId> cancelled;
    std::vector<std::filesystem::path> loads;
    int cancelledLoads = 0;
    std::vector<Event> events;              // given out by takeEvents()
    std::shared_ptr<const ModelText> text;  // with a chat template, without a tokenizer
};

std::shared_ptr<const ModelText> textWithoutTemplate();
LoadedModelInfo fakeModel();

// Events of one answer. Token i is committed at (i + 1) · 10 ms after the request was submitted at 0.
TokenCommitted tokenEvent(RequestId request, int index, std::string text, std::size_t textBegin);
RequestFinished finishedEvent(RequestId request, const std::vector<std::string>& tokens,
                              StopReason reason = StopReason::Eos);

}  // namespace tokenscope::test
