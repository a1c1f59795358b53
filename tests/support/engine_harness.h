// Drives an engine from a test: waits for events with a limit, and keeps all of them.
#pragma once

#include "engine/engine.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tokenscope::test {

class EngineHarness {
public:
    explicit EngineHarness(std::unique_ptr<EnginePort> driven) : engine(std::move(driven)) {}

    std::unique_ptr<EnginePort> engine;
    std::vector<Event> events;  // all that were taken so far
    std::chrono::seconds patience{
        300};  // longest wait for an event before the test fails; a busy machine is no failure

    // The error if the load failed.
    Result<LoadedModelInfo> load(const std::filesystem::path& path = "fake.gguf", const EngineSettings& settings = {});
    RequestFinished finished(RequestId request);  // waits for it
    RequestFinished run(RequestSpec spec) { return finished(engine->submit(std::move(spec))); }

    // Waits until an event fits.
    template <typename Predicate>
    const Event* waitFor(Predicate fits)
    {
        std::size_t looked = 0;
        for (int waits = 0; waits < 10 * patience.count(); ++waits) {
            for (; looked < events.size(); ++looked)
                if (fits(events[looked]))
                    return &events[looked];
            engine->waitForEvents(std::chrono::milliseconds(100));
            take();
        }
        return nullptr;
    }
    template <typename T>
    int count(RequestId request)
    {
        int found = 0;
        for (const Event& event : events)
            if (const T* value = std::get_if<T>(&event); value && value->request == request)
                ++found;
        return found;
    }
    void take();
};

// A greedy request.
RequestSpec greedySpec(std::vector<TokenId> prompt, int maxTokens);

}  // namespace tokenscope::test
