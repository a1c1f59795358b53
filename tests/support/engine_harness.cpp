#include "tests/support/engine_harness.h"

#include <gtest/gtest.h>

namespace tokenscope::test {

Result<LoadedModelInfo> EngineHarness::load(const std::filesystem::path& path, const EngineSettings& settings)
{
    take();
    const std::size_t before = events.size();
    engine->load(path, settings);
    const Event* event = waitFor([&, seen = std::size_t{0}](const Event& candidate) mutable {
        return seen++ >= before &&
               (std::holds_alternative<ModelLoaded>(candidate) || std::holds_alternative<ModelLoadFailed>(candidate));
    });
    if (!event) {
        ADD_FAILURE() << "the load did not end";
        return fail(ErrorCode::Internal, "the load did not end");
    }
    if (const auto* failed = std::get_if<ModelLoadFailed>(event))
        return tl::unexpected(failed->error);
    return std::get<ModelLoaded>(*event).info;
}

RequestFinished EngineHarness::finished(RequestId request)
{
    const Event* event = waitFor([&](const Event& candidate) {
        const auto* end = std::get_if<RequestFinished>(&candidate);
        return end && end->request == request;
    });
    if (!event) {
        ADD_FAILURE() << "request " << request << " did not end";
        return {};
    }
    return std::get<RequestFinished>(*event);
}

void EngineHarness::take()
{
    for (Event& event : engine->takeEvents())
        events.push_back(std::move(event));
}

RequestSpec greedySpec(std::vector<TokenId> prompt, int maxTokens)
{
    RequestSpec spec;
    spec.prompt = IdsPrompt{std::move(prompt)};
    spec.sampling.temperature = 0.0;
    spec.sampling.maxTokens = maxTokens;
    return spec;
}

}  // namespace tokenscope::test
