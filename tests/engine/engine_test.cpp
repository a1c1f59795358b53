// The engine around a fake model whose tokens show every mistake of batching, paging and chunking.
#include "engine/engine.h"

#include "tests/support/engine_harness.h"
#include "tests/support/fake_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tokenscope {
namespace {

using test::EngineHarness;
using test::expectedText;
using test::expectedTokens;
using test::FakeModelOptions;
using test::greedySpec;
using ::testing::HasSubstr;

EngineHarness fakeEngine(FakeModelOptions options = {}, EngineDependencies dependencies = {})
{
    return EngineHarness(makeEngine(std::move(dependencies), test::makeFakeLoader(std::move(options))));
}

std::vector<TokenId> promptOf(int length, int seed = 0)
{
    std::vector<TokenId> ids;
    for (int i = 0; i < length; ++i)
        ids.push_back('A' + (i * 7 + seed * 3) % 26);
    return ids;
}

// Waits, on the engine's thread, until the step or load is cancelled.
void waitUntil(const std::atomic<bool>& flag)
{
    for (int i = 0; i < 3000 && !flag; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_TRUE(flag.load()) << "never cancelled";
}

tl::unexpected<kernels::KernelError> kernelFailure(kernels::KernelErrorCode code)
{
    return tl::unexpected(kernels::KernelError{code, "as the test wants"});
}

TEST(Engine, AGreedyAnswerIsThatOfTheModel)
{
    auto harness = fakeEngine();
    ASSERT_TRUE(harness.load().has_value());
    const RequestFinished end = harness.run(greedySpec(promptOf(50), 40));

    EXPECT_EQ(end.outputIds, expectedTokens(promptOf(50), 40));
    EXPECT_EQ(end.text, expectedText(promptOf(50), 40));
    EXPECT_EQ(end.promptIds, promptOf(50));
    EXPECT_EQ(end.trace.reason, StopReason::Length);
    EXPECT_FALSE(end.error.has_value());
}

TEST(Engine, ManyRequestsAtOnceGetTheAnswersTheyGetAlone)
{
    for (int chunk : {0, 1, 7, 32, kWholePrompt}) {
        auto harness = fakeEngine();
        EngineSettings settings;
        settings.batch = 8;
        settings.prefillChunk = chunk;
        ASSERT_TRUE(harness.load("fake.gguf", settings).has_value());
        std::vector<RequestId> requests;
        for (int i = 0; i < 12; ++i)
            requests.push_back(harness.engine->submit(greedySpec(promptOf(3 + 9 * i, i), 5 + i)));
        for (int i = 0; i < 12; ++i) {
            const RequestFinished end = harness.finished(requests[static_cast<std::size_t>(i)]);
            EXPECT_EQ(end.outputIds, expectedTokens(promptOf(3 + 9 * i, i), 5 + i)) << "chunk " << chunk;
        }
    }
}

TEST(Engine, TheTraceOfARequestIsCompleteAndInOrder)
{
    auto harness = fakeEngine();
    EngineSettings settings;
    settings.prefillChunk = 20;
    ASSERT_TRUE(harness.load("fake.gguf", settings).has_value());
    RequestSpec spec = greedySpec(promptOf(50), 10);
    spec.scheduledNs = 5;
    const RequestFinished end = harness.run(spec);
    const RequestTrace& trace = end.trace;

    EXPECT_EQ(trace.scheduledNs, 5);
    EXPECT_LE(trace.submittedNs, trace.tokenisedNs.value());
    EXPECT_LE(trace.tokenisedNs.value(), trace.admittedNs.value());
    ASSERT_EQ(trace.chunks.size(), 3u);
    EXPECT_EQ(trace.chunks[0].tokens + trace.chunks[1].tokens + trace.chunks[2].tokens, 50);
    ASSERT_EQ(trace.tokens.size(), 10u);
    ASSERT_EQ(trace.steps.size(), 12u);  // the last chunk gives the first token
    Nanoseconds last = trace.admittedNs.value();
    for (const StepRecord& step : trace.steps) {
        EXPECT_LE(last, step.startNs);
        EXPECT_LE(step.startNs, step.computedNs);
        EXPECT_LE(step.computedNs, step.endNs);
        EXPECT_EQ(step.sequences, 1);
        EXPECT_EQ(step.macs, static_cast<std::uint64_t>(step.rows));
        last = step.endNs;
    }
    EXPECT_EQ(trace.steps[0].prefillRows, 20);
    EXPECT_EQ(trace.steps[0].newBlocks, 1);
    EXPECT_EQ(trace.steps[11].prefillRows, 0);
    EXPECT_EQ(trace.steps[11].kvBlocksUsed, 2);
    for (std::size_t i = 0; i < 10; ++i) {
        const TokenStamp& token = trace.tokens[i];
        EXPECT_EQ(token.id, end.outputIds[i]);
        EXPECT_EQ(token.textBegin, i);
        EXPECT_EQ(token.textEnd, i + 1);
        EXPECT_EQ(token.stepId, trace.steps[i + 2].stepId);
        EXPECT_GE(token.committedNs, trace.steps[i + 2].computedNs);
        EXPECT_LE(token.committedNs, trace.steps[i + 2].endNs);
    }
    EXPECT_EQ(trace.stoppedNs, trace.tokens.back().committedNs);
    EXPECT_LE(trace.stoppedNs.value(), trace.teardownNs.value());
    EXPECT_EQ(trace.promptTokens, 50);
    EXPECT_EQ(trace.kvBlocksPeak, 2);
    EXPECT_EQ(trace.kvBytesPeak, 2000u);
}

TEST(Engine, EventsTellTheWholeAnswerAndItsEndOnce)
{
    auto harness = fakeEngine();
    ASSERT_TRUE(harness.load().has_value());
    const RequestId request = harness.engine->submit(greedySpec(promptOf(10), 20));
    const RequestFinished end = harness.finished(request);

    std::string text;
    for (const Event& event : harness.events)
        if (const auto* token = std::get_if<TokenCommitted>(&event))
            text += token->text;
    EXPECT_EQ(text, end.text);
    EXPECT_EQ(harness.count<TokenCommitted>(request), 20);
    EXPECT_EQ(harness.count<RequestTokenised>(request), 1);
    EXPECT_EQ(harness.count<RequestFinished>(request), 1);
    EXPECT_TRUE(std::holds_alternative<RequestFinished>(harness.events.back()));
}

TEST(Engine, WithoutAModelARequestEndsBusy)
{
    auto harness = fakeEngine();
    const RequestFinished end = harness.run(greedySpec({1}, 1));
    EXPECT_EQ(end.trace.reason, StopReason::Error);
    EXPECT_EQ(end.error.value().code, ErrorCode::Busy);
    EXPECT_EQ(harness.engine->modelText(), nullptr);
}

TEST(Engine, BadRequestsEndWithASentenceAndTheNextOneRuns)
{
    auto harness = fakeEngine();
    ASSERT_TRUE(harness.load().has_value());
    const auto errorOf = [&](const RequestSpec& spec) { return harness.run(spec).error.value_or(Error{}); };

    EXPECT_EQ(errorOf(greedySpec({}, 1)).code, ErrorCode::BadInput);
    EXPECT_THAT(errorOf(greedySpec({65, 259}, 1)).message, HasSubstr("id 259 at place 1"));
    EXPECT_EQ(errorOf(greedySpec({-1}, 1)).code, ErrorCode::BadInput);
    EXPECT_EQ(errorOf(greedySpec({65}, 0)).code, ErrorCode::BadSetting);
    RequestSpec spec = greedySpec({65}, 1);
    spec.topLogits = -1;
    EXPECT_EQ(errorOf(spec).code, ErrorCode::BadInput);
    spec = greedySpec({65}, 1);
    spec.prompt = ScorePrompt{{65}, 0};
    EXPECT_EQ(errorOf(spec).code, ErrorCode::BadInput);
    spec.prompt = ChatPrompt{};
    EXPECT_EQ(errorOf(spec).code, ErrorCode::BadInput);
    spec.prompt = ChatPrompt{{{"user", "hi"}}, true};
    EXPECT_THAT(errorOf(spec).message, HasSubstr("\"user\""));
    spec.prompt = TextPrompt{std::string(3, '\0'), false};
    EXPECT_THAT(errorOf(spec).message, HasSubstr("3 bytes"));

    EXPECT_EQ(harness.run(greedySpec(promptOf(5), 3)).outputIds, expectedTokens(promptOf(5), 3));
}

TEST(Engine, APromptLongerThanTheContextIsRefusedWithBothCounts)
{
    auto harness = fakeEngine({.context = 64});
    ASSERT_TRUE(harness.load().has_value());
    const RequestFinished end = harness.run(greedySpec(promptOf(65), 5));
    EXPECT_EQ(end.error.value().code, ErrorCode::ContextFull);
    EXPECT_THAT(end.error->message, HasSubstr("65"));
    EXPECT_THAT(end.error->message, HasSubstr("64"));
    EXPECT_EQ(end.promptIds.size(), 65u) << "the input is preserved";
    EXPECT_FALSE(end.trace.admittedNs.has_value());

    const RequestFinished exact = harness.run(greedySpec(promptOf(64), 5));
    EXPECT_EQ(exact.trace.reason, StopReason::ContextFull);
    EXPECT_EQ(exact.outputIds, expectedTokens(promptOf(64), 1));
}

TEST(Engine, AFullContextStopsTheAnswerAndKeepsIt)
{
    auto harness = fakeEngine({.context = 40});
    ASSERT_TRUE(harness.load().has_value());
    const RequestFinished end = harness.run(greedySpec(promptOf(30), 100));
    EXPECT_EQ(end.trace.reason, StopReason::ContextFull);
    EXPECT_FALSE(end.error.has_value());
    EXPECT_EQ(end.text, expectedText(promptOf(30), 11));
}

TEST(Engine, APoolThatRunsOutStopsOneAndTheOtherGoesOn)
{
    std::atomic<bool> bothSubmitted = false;
    FakeModelOptions options;
    options.context = 128;
    options.blockCount = 3;
    options.onStep = [&](const kernels::StepPlan&, const std::atomic<bool>*) -> kernels::KernelResult<void> {
        while (!bothSubmitted)
            std::this_thread::yield();
        return {};
    };
    auto harness = fakeEngine(std::move(options));
    EngineSettings settings;
    settings.batch = 2;
    ASSERT_TRUE(harness.load("fake.gguf", settings).has_value());
    const RequestId first = harness.engine->submit(greedySpec(promptOf(30), 50));
    const RequestId second = harness.engine->submit(greedySpec(promptOf(30, 1), 50));
    bothSubmitted = true;
    const RequestFinished one = harness.finished(first);
    const RequestFinished two = harness.finished(second);
    const auto isFull = [](const RequestFinished& end) { return end.trace.reason == StopReason::ContextFull; };
    EXPECT_TRUE(isFull(one) || isFull(two));
    const std::size_t longest = std::max(one.outputIds.size(), two.outputIds.size());
    EXPECT_GE(longest, 35u) << "the survivor had two blocks at least";
    EXPECT_EQ(one.outputIds, expectedTokens(promptOf(30), static_cast<int>(one.outputIds.size())));
    EXPECT_EQ(two.outputIds, expectedTokens(promptOf(30, 1), static_cast<int>(two.outputIds.size())));
    EXPECT_EQ(harness.run(greedySpec(promptOf(90), 3)).outputIds, expectedTokens(promptOf(90), 3));
}

TEST(Engine, RequestsWaitInTheOrderOfArrival)
{
    auto harness = fakeEngine();
    ASSERT_TRUE(harness.load().has_value());
    std::vector<RequestId> requests;
    for (int i = 0; i < 5; ++i)
        requests.push_back(harness.engine->submit(greedySpec(promptOf(20, i), 4)));
    Nanoseconds last = 0;
    for (RequestId request : requests) {
        const RequestFinished end = harness.finished(request);
        EXPECT_GE(end.trace.admittedNs.value(), last);
        last = end.trace.teardownNs.value();
    }
}

TEST(Engine, AStopStringMayStraddleTokensAndIsNotPartOfTheText)
{
    auto harness = fakeEngine();
    ASSERT_TRUE(harness.load().has_value());
    const std::string whole = expectedText(promptOf(8), 30);
    for (std::size_t begin : {0u, 1u, 7u}) {
        RequestSpec spec = greedySpec(promptOf(8), 30);
        spec.sampling.stop = {"never!", whole.substr(begin, 4), ""};
        const RequestId request = harness.engine->submit(spec);
        const RequestFinished end = harness.finished(request);
        EXPECT_EQ(end.trace.reason, StopReason::StopString);
        EXPECT_EQ(end.text, whole.substr(0, whole.find(whole.substr(begin, 4))));
        EXPECT_EQ(end.outputIds.size(), end.text.size() + 4);
        EXPECT_EQ(end.trace.tokens.back().textEnd, end.text.size());
        std::string streamed;
        for (const Event& event : harness.events)
            if (const auto* token = std::get_if<TokenCommitted>(&event); token && token->request == request)
                streamed += token->text;
        EXPECT_EQ(streamed, end.text);
    }
}

TEST(Engine, TheEndOfTextTokenEndsTheAnswerAndCounts)
{
    std::atomic<int> rows = 0;
    FakeModelOptions options;
    options.onLogits = [&](std::span<float> logits) {
        if (!logits.empty() && ++rows % 4 == 0)
            logits[test::kFakeEos] = 100.0f;
    };
    auto harness = fakeEngine(std::move(options));
    ASSERT_TRUE(harness.load().has_value());
    const RequestFinished end = harness.run(greedySpec(promptOf(8), 30));
    EXPECT_EQ(end.trace.reason, StopReason::Eos);
    ASSERT_EQ(end.outputIds.size(), 4u);
    EXPECT_EQ(end.outputIds.back(), test::kFakeEos);
    EXPECT_EQ(end.text, expectedText(promptOf(8), 3));

    RequestSpec spec = greedySpec(promptOf(8), 9);
    spec.sampling.ignoreEos = true;
    const RequestFinished on = harness.run(spec);
    EXPECT_EQ(on.trace.reason, StopReason::Length);
    EXPECT_EQ(std::count(on.outputIds.begin(), on.outputIds.end(), test::kFakeEos), 2);
    EXPECT_EQ(on.text.size(), 7u);
}

TEST(Engine, TopLogitsAreThoseOfTheModelBeforePenalties)
{
    auto harness = fakeEngine();
    ASSERT_TRUE(harness.load().has_value());
    RequestSpec spec = greedySpec(promptOf(8), 5);
    spec.topLogits = 3;
    spec.sampling.presencePenalty = 5.0;
    const RequestFinished end = harness.run(spec);
    ASSERT_EQ(end.topLogits.size(), 5u);
    std::vector<TokenId> tokens = promptOf(8);
    for (std::size_t i = 0; i < 5; ++i) {
        const std::vector<float> logits = test::fakeLogits(tokens);
        ASSERT_EQ(end.topLogits[i].size(), 3u);
        EXPECT_EQ(end.topLogits[i][0].logit, *std::max_element(logits.begin(), logits.end()));
        tokens.push_back(end.outputIds[i]);
    }
}

TEST(Engine, ScoringGivesTheProbabilityOfEveryIdAfterTheFirst)
{
    std::atomic<int> mostLogitRows = 0;
    FakeModelOptions options;
    options.onStep = [&](const kernels::StepPlan& plan, const std::atomic<bool>*) -> kernels::KernelResult<void> {
        mostLogitRows = std::max(mostLogitRows.load(), static_cast<int>(plan.logitRows.size()));
        return {};
    };
    auto harness = fakeEngine(std::move(options));
    EngineSettings settings;
    settings.batch = 4;
    settings.prefillChunk = kWholePrompt;
    ASSERT_TRUE(harness.load("fake.gguf", settings).has_value());
    const std::vector<TokenId> ids = promptOf(100);
    RequestSpec spec;
    spec.prompt = ScorePrompt{ids, 2};
    std::vector<RequestId> requests{harness.engine->submit(spec), harness.engine->submit(spec)};
    for (RequestId request : requests) {
        const RequestFinished end = harness.finished(request);
        EXPECT_EQ(end.trace.reason, StopReason::Length);
        EXPECT_TRUE(end.outputIds.empty());
        ASSERT_EQ(end.scores.size(), ids.size() - 1);
        for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
            const std::vector<float> logits = test::fakeLogits(std::span(ids).first(i + 1));
            double sum = 0.0;
            for (float v : logits)
                sum += std::exp(static_cast<double>(v));
            EXPECT_EQ(end.scores[i].id, ids[i + 1]);
            EXPECT_NEAR(end.scores[i].logSumExp, std::log(sum), 1e-5);
            EXPECT_NEAR(end.scores[i].logProbability,
                        static_cast<double>(logits[static_cast<std::size_t>(ids[i + 1])]) - std::log(sum), 1e-5);
            ASSERT_EQ(end.scores[i].top.size(), 2u);
            EXPECT_EQ(end.scores[i].top[0].logit, *std::max_element(logits.begin(), logits.end()));
        }
    }
    EXPECT_LE(mostLogitRows.load(), 32);
}

TEST(Engine, ASeedGivesTheSameTokensWhateverElseRuns)
{
    EngineDependencies dependencies;
    dependencies.drawSeed = [] { return std::uint64_t{4711}; };
    auto harness = fakeEngine({}, dependencies);
    EngineSettings settings;
    settings.batch = 6;
    ASSERT_TRUE(harness.load("fake.gguf", settings).has_value());
    RequestSpec spec = greedySpec(promptOf(9), 30);
    spec.sampling.temperature = 1.0;
    const RequestFinished drawn = harness.run(spec);
    EXPECT_EQ(drawn.sampling.seed, 4711u) << "the seed that was drawn is recorded";

    spec.sampling.seed = 4711;
    std::vector<RequestId> requests;
    for (int i = 0; i < 5; ++i) {
        RequestSpec stranger = spec;
        stranger.prompt = IdsPrompt{promptOf(20 + i, i)};
        harness.engine->submit(stranger);
    }
    EXPECT_EQ(harness.run(spec).outputIds, drawn.outputIds);
    spec.answerIndex = 1;
    EXPECT_NE(harness.run(spec).outputIds, drawn.outputIds) << "another answer to the same request";
    spec.answerIndex = 0;
    spec.sampling.seed = 4712;
    EXPECT_NE(harness.run(spec).outputIds, drawn.outputIds);
}

TEST(Engine, NaNLogitsEndTheRequestAndKeepItsText)
{
    std::atomic<int> rows = 0;
    FakeModelOptions options;
    options.onLogits = [&](std::span<float> logits) {
        if (++rows == 4)
            logits[3] = std::numeric_limits<float>::quiet_NaN();
    };
    auto harness = fakeEngine(std::move(options));
    ASSERT_TRUE(harness.load().has_value());
    const RequestFinished end = harness.run(greedySpec(promptOf(8), 30));
    EXPECT_EQ(end.error.value().code, ErrorCode::NotANumber);
    EXPECT_EQ(end.text, expectedText(promptOf(8), 3));
    EXPECT_EQ(harness.run(greedySpec(promptOf(8), 4)).outputIds, expectedTokens(promptOf(8), 4));
}

TEST(Engine, AFailedStepEndsItsRequestsAndNotTheWaitingOne)
{
    for (bool throws : {false, true}) {
        std::atomic<int> steps = 0;
        FakeModelOptions options;
        options.onStep = [&](const kernels::StepPlan&, const std::atomic<bool>*) -> kernels::KernelResult<void> {
            if (++steps != 3)
                return {};
            if (throws)
                throw std::bad_alloc();
            return kernelFailure(kernels::KernelErrorCode::OutOfMemory);
        };
        auto harness = fakeEngine(std::move(options));
        EngineSettings settings;
        settings.batch = 2;
        settings.prefillChunk = 100;
        ASSERT_TRUE(harness.load("fake.gguf", settings).has_value());
        std::vector<RequestId> requests;
        for (int i = 0; i < 3; ++i)
            requests.push_back(harness.engine->submit(greedySpec(promptOf(8, i), 6)));
        EXPECT_EQ(harness.finished(requests[0]).error.value().code, ErrorCode::OutOfMemory);
        harness.finished(requests[1]);
        EXPECT_EQ(harness.finished(requests[2]).outputIds, expectedTokens(promptOf(8, 2), 6));
    }
}

TEST(Engine, ACancelWhileAStepIsComputedInterruptsIt)
{
    for (int cancelledStep : {1, 2, 5}) {  // first chunk, second chunk, decode
        std::atomic<int> steps = 0;
        FakeModelOptions options;
        options.onStep = [&](const kernels::StepPlan&,
                             const std::atomic<bool>* cancelled) -> kernels::KernelResult<void> {
            if (++steps == cancelledStep) {
                waitUntil(*cancelled);
                return kernelFailure(kernels::KernelErrorCode::Cancelled);
            }
            return {};
        };
        auto harness = fakeEngine(std::move(options));
        EngineSettings settings;
        settings.batch = 2;
        settings.prefillChunk = 40;
        ASSERT_TRUE(harness.load("fake.gguf", settings).has_value());
        const RequestId request = harness.engine->submit(greedySpec(promptOf(80), 30));
        while (steps < cancelledStep)
            std::this_thread::yield();
        const RequestId other = harness.engine->submit(greedySpec(promptOf(20, 1), 10));
        harness.engine->cancel(request);
        const RequestFinished end = harness.finished(request);
        EXPECT_EQ(end.trace.reason, StopReason::Cancelled);
        EXPECT_FALSE(end.error.has_value());
        EXPECT_EQ(end.outputIds, expectedTokens(promptOf(80), static_cast<int>(end.outputIds.size())));
        EXPECT_EQ(static_cast<int>(end.outputIds.size()), std::max(0, cancelledStep - 2));
        EXPECT_EQ(harness.finished(other).outputIds, expectedTokens(promptOf(20, 1), 10));
    }
}

TEST(Engine, ACancelAtAnyEventEndsTheRequestOnceAndGivesItsBlocksBack)
{
    for (int event = 0; event < 14; ++event) {
        auto harness = fakeEngine({.context = 64});
        EngineSettings settings;
        settings.prefillChunk = 20;
        ASSERT_TRUE(harness.load("fake.gguf", settings).has_value());
        const std::size_t before = harness.events.size();
        const RequestId request = harness.engine->submit(greedySpec(promptOf(50), 10));
        if (event > 0)
            harness.waitFor([&](const Event&) { return harness.events.size() >= before + event; });
        harness.engine->cancel(request);
        harness.engine->cancel(request);
        harness.finished(request);
        // The whole pool is needed, so a lost block would show.
        EXPECT_EQ(harness.run(greedySpec(promptOf(60), 4)).outputIds, expectedTokens(promptOf(60), 4));
        EXPECT_EQ(harness.count<RequestFinished>(request), 1);
    }
}

TEST(Engine, AWaitingRequestCanBeCancelled)
{
    std::atomic<bool> go = false;
    FakeModelOptions options;
    options.onStep = [&](const kernels::StepPlan&, const std::atomic<bool>*) -> kernels::KernelResult<void> {
        while (!go)
            std::this_thread::yield();
        return {};
    };
    auto harness = fakeEngine(std::move(options));
    ASSERT_TRUE(harness.load().has_value());
    const RequestId first = harness.engine->submit(greedySpec(promptOf(10), 4));
    const RequestId second = harness.engine->submit(greedySpec(promptOf(10), 4));
    harness.engine->cancel(second);
    const RequestFinished end = harness.finished(second);  // though the engine is in a step
    EXPECT_EQ(end.trace.reason, StopReason::Cancelled);
    EXPECT_FALSE(end.trace.admittedNs.has_value());
    go = true;
    EXPECT_EQ(harness.finished(first).outputIds, expectedTokens(promptOf(10), 4));
}

TEST(Engine, AFileThatCannotBeLoadedLeavesTheModelInUse)
{
    auto harness = fakeEngine();
    ASSERT_TRUE(harness.load().has_value());
    const auto failed = harness.load("missing.gguf");
    ASSERT_FALSE(failed.has_value());
    EXPECT_EQ(failed.error().code, ErrorCode::FileAccess);
    EXPECT_NE(harness.engine->modelText(), nullptr);
    EXPECT_EQ(harness.run(greedySpec(promptOf(5), 3)).outputIds, expectedTokens(promptOf(5), 3));
}

TEST(Engine, ALoadReplacesTheModelAndCancelsItsRequests)
{
    std::atomic<int> steps = 0;
    FakeModelOptions options;
    options.onStep = [&](const kernels::StepPlan&, const std::atomic<bool>* cancelled) -> kernels::KernelResult<void> {
        if (++steps == 2)
            waitUntil(*cancelled);
        return {};
    };
    auto harness = fakeEngine(std::move(options));
    ASSERT_TRUE(harness.load().has_value());
    const RequestId request = harness.engine->submit(greedySpec(promptOf(5), 30));
    while (steps < 2)
        std::this_thread::yield();
    ASSERT_TRUE(harness.load("other.gguf").has_value());
    EXPECT_EQ(harness.finished(request).trace.reason, StopReason::Cancelled);
    EXPECT_TRUE(std::any_of(harness.events.begin(), harness.events.end(),
                            [](const Event& event) { return std::holds_alternative<ModelUnloaded>(event); }));
    EXPECT_EQ(harness.run(greedySpec(promptOf(5), 3)).outputIds, expectedTokens(promptOf(5), 3));
}

FakeModelOptions slowLoad(std::atomic<int>& begun)
{
    FakeModelOptions options;
    options.onLoad = [&begun](const std::atomic<bool>& cancelled) -> kernels::KernelResult<void> {
        if (++begun > 1)
            return {};
        waitUntil(cancelled);
        return kernelFailure(kernels::KernelErrorCode::Cancelled);
    };
    return options;
}

TEST(Engine, ALoadCanBeCancelledAndTheNextOneWorks)
{
    std::atomic<int> begun = 0;
    auto harness = fakeEngine(slowLoad(begun));
    harness.engine->load("fake.gguf", {});
    const RequestId request = harness.engine->submit(greedySpec(promptOf(5), 3));
    while (begun < 1)
        std::this_thread::yield();
    harness.engine->cancelLoad();
    const Event* event =
        harness.waitFor([](const Event& candidate) { return std::holds_alternative<ModelLoadFailed>(candidate); });
    ASSERT_NE(event, nullptr);
    EXPECT_EQ(std::get<ModelLoadFailed>(*event).error.code, ErrorCode::Cancelled);
    EXPECT_EQ(harness.finished(request).error.value().code, ErrorCode::Busy);
    EXPECT_TRUE(harness.load().has_value());
}

TEST(Engine, ALoadWhileAnotherRunsCancelsThatOne)
{
    std::atomic<int> begun = 0;
    auto harness = fakeEngine(slowLoad(begun));
    harness.engine->load("first.gguf", {});
    while (begun < 1)
        std::this_thread::yield();
    harness.engine->load("second.gguf", {});
    const Event* event =
        harness.waitFor([](const Event& candidate) { return std::holds_alternative<ModelLoaded>(candidate); });
    ASSERT_NE(event, nullptr);
    EXPECT_EQ(std::get<ModelLoaded>(*event).info.model.path, "second.gguf");
    EXPECT_EQ(std::count_if(harness.events.begin(), harness.events.end(),
                            [](const Event& candidate) { return std::holds_alternative<ModelLoadFailed>(candidate); }),
              1);
}

TEST(Engine, ARequestSubmittedDuringALoadWaitsForIt)
{
    auto harness = fakeEngine();
    harness.engine->load("fake.gguf", {});
    EXPECT_EQ(harness.run(greedySpec(promptOf(5), 3)).outputIds, expectedTokens(promptOf(5), 3));
}

TEST(Engine, UnloadingEndsRequestsAndForgetsTheModel)
{
    auto harness = fakeEngine();
    ASSERT_TRUE(harness.load().has_value());
    const RequestId request = harness.engine->submit(greedySpec(promptOf(5), 120));
    harness.engine->unload();
    harness.finished(request);
    EXPECT_EQ(harness.run(greedySpec(promptOf(5), 1)).error.value().code, ErrorCode::Busy);
    EXPECT_EQ(harness.engine->modelText(), nullptr);
}

TEST(Engine, DestructionInterruptsALoadAndAStep)
{
    {
        std::atomic<int> begun = 0;
        auto harness = fakeEngine(slowLoad(begun));
        harness.engine->load("fake.gguf", {});
        while (begun < 1)
            std::this_thread::yield();
        harness.engine.reset();
    }
    std::atomic<int> steps = 0;
    FakeModelOptions options;
    options.onStep = [&](const kernels::StepPlan&, const std::atomic<bool>* cancelled) -> kernels::KernelResult<void> {
        ++steps;
        waitUntil(*cancelled);
        return kernelFailure(kernels::KernelErrorCode::Cancelled);
    };
    auto harness = fakeEngine(std::move(options));
    ASSERT_TRUE(harness.load().has_value());
    harness.engine->submit(greedySpec(promptOf(5), 3));
    while (steps < 1)
        std::this_thread::yield();
    harness.engine.reset();
}

TEST(Engine, RequestsFromManyThreadsAllEnd)
{
    auto harness = fakeEngine();
    EngineSettings settings;
    settings.batch = 4;
    ASSERT_TRUE(harness.load("fake.gguf", settings).has_value());
    std::mutex mutex;
    std::vector<RequestId> requests;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            for (int i = 0; i < 10; ++i) {
                const RequestId request = harness.engine->submit(greedySpec(promptOf(10 + i, t), 5));
                if (i % 3 == t % 3)
                    harness.engine->cancel(request);
                const std::lock_guard lock(mutex);
                requests.push_back(request);
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    for (RequestId request : requests)
        harness.finished(request);
    for (RequestId request : requests)
        EXPECT_EQ(harness.count<RequestFinished>(request), 1);
}

}  // namespace
}  // namespace tokenscope
