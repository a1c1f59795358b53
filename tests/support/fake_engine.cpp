#include "tests/support/fake_engine.h"

#include "engine/template/chat_template.h"

#include <utility>

namespace tokenscope::test {

FakeEngine::FakeEngine()
{
    auto withTemplate = std::make_shared<ModelText>();
    // Only whether there is one is asked; nobody renders with it.
    static const int standIn = 0;
    withTemplate->chatTemplate = {std::make_shared<int>(), reinterpret_cast<const ChatTemplate*>(&standIn)};
    text = withTemplate;
}

void FakeEngine::load(const std::filesystem::path& path, const EngineSettings&)
{
    loads.push_back(path);
}

RequestId FakeEngine::submit(RequestSpec spec)
{
    submitted.push_back(std::move(spec));
    return submitted.size();
}

std::vector<Event> FakeEngine::takeEvents()
{
    return std::exchange(events, {});
}

bool FakeEngine::waitForEvents(std::chrono::milliseconds)
{
    return !events.empty();
}

std::shared_ptr<const ModelText> textWithoutTemplate()
{
    return std::make_shared<ModelText>();
}

LoadedModelInfo fakeModel()
{
    LoadedModelInfo info;
    info.model.path = "models/fake.gguf";
    info.model.name = "Fake 1M";
    info.model.architecture = "llama";
    info.model.fileBytes = 1'000'000;
    info.device = "CPU";
    info.isa = "scalar";
    info.threads = 2;
    info.context = 512;
    info.loadMs = 12.0;
    return info;
}

TokenCommitted tokenEvent(RequestId request, int index, std::string text, std::size_t textBegin)
{
    TokenCommitted event;
    event.request = request;
    event.stamp.id = 100 + index;
    event.stamp.committedNs = (index + 1) * 10'000'000ll;
    event.stamp.stepId = static_cast<std::uint32_t>(index + 1);
    event.stamp.textBegin = static_cast<std::uint32_t>(textBegin);
    event.stamp.textEnd = static_cast<std::uint32_t>(textBegin + text.size());
    event.step.stepId = event.stamp.stepId;
    event.step.startNs = event.stamp.committedNs - 9'000'000;
    event.step.computedNs = event.stamp.committedNs - 1'000'000;
    event.step.endNs = event.stamp.committedNs;
    event.step.rows = 1;
    event.step.sequences = 1;
    event.step.weightBytes = 1'000'000;
    event.step.macs = 1'000'000;
    event.text = std::move(text);
    return event;
}

RequestFinished finishedEvent(RequestId request, const std::vector<std::string>& tokens, StopReason reason)
{
    RequestFinished event;
    event.request = request;
    event.trace.reason = reason;
    event.trace.tokenisedNs = 1'000'000;
    event.trace.admittedNs = 2'000'000;
    event.trace.chunks = {{.endNs = 9'000'000, .tokens = 4, .stepId = 0}};
    event.trace.promptTokens = 4;
    event.promptIds = {1, 2, 3, 4};
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        const TokenCommitted token = tokenEvent(request, static_cast<int>(i), tokens[i], event.text.size());
        event.trace.tokens.push_back(token.stamp);
        event.trace.steps.push_back(token.step);
        event.outputIds.push_back(token.stamp.id);
        event.text += tokens[i];
    }
    event.trace.stoppedNs = 10'000'000ll * static_cast<int>(tokens.size()) + 1;
    event.sampling.seed = 42;
    if (reason == StopReason::Error)
        event.error = Error{ErrorCode::ContextFull, "the prompt has 900 tokens, the context holds 512; shorten it"};
    return event;
}

}  // namespace tokenscope::test
