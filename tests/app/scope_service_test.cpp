#include "app/services/scope_service.h"

#include <gtest/gtest.h>

namespace tokenscope {
namespace {

constexpr Nanoseconds kMs = 1'000'000;

LoadedModelInfo model()
{
    LoadedModelInfo info;
    info.blockCount = 128;
    info.blockBytes = 1000;
    info.context = 4096;
    info.budget.kvBytesPerToken = 31;
    return info;
}

StepRecord step(std::uint32_t id, Nanoseconds startMs, Nanoseconds endMs, std::uint64_t bytes, int blocks)
{
    StepRecord record;
    record.stepId = id;
    record.startNs = startMs * kMs;
    record.computedNs = (endMs - 1) * kMs;
    record.endNs = endMs * kMs;
    record.weightBytes = bytes;
    record.kvBlocksUsed = blocks;
    return record;
}

TokenCommitted committed(std::uint32_t stepId, Nanoseconds atMs, const StepRecord& record, int inStep = 1)
{
    TokenCommitted event;
    event.request = 7;
    event.stamp.committedNs = atMs * kMs;
    event.stamp.stepId = stepId;
    event.stamp.committedInStep = inStep;
    event.step = record;
    return event;
}

ScopeModel liveModel()
{
    ScopeModel scope;
    scope.setModel(model());
    scope.begin(7);
    scope.apply(RequestTokenised{.request = 7, .promptTokens = 40, .submittedNs = 0, .tokenisedNs = 2 * kMs});
    scope.apply(
        PrefillProgress{.request = 7, .done = 40, .total = 40, .step = step(1, 5, 60, 100, 2), .admittedNs = 5 * kMs});
    return scope;
}

TEST(ScopeModel, SplitsTheWaitForTheFirstTokenInOrder)
{
    ScopeModel scope = liveModel();
    EXPECT_FALSE(scope.splits()[0].totalMs.has_value());
    scope.apply(committed(1, 60, step(1, 5, 60, 100, 2)));
    const TtftSplit& split = scope.splits()[0];
    EXPECT_DOUBLE_EQ(*split.tokenizeMs, 2);
    EXPECT_DOUBLE_EQ(*split.queueMs, 3);
    EXPECT_DOUBLE_EQ(*split.prefillMs, 54);
    EXPECT_DOUBLE_EQ(*split.firstSampleMs, 1);
    EXPECT_DOUBLE_EQ(*split.totalMs, 60);
    EXPECT_DOUBLE_EQ(split.knownMs(), 60);
}

TEST(ScopeModel, TheFirstTokenHasNoGapAndLaterOnesTheirDistance)
{
    ScopeModel scope = liveModel();
    scope.apply(committed(1, 60, step(1, 5, 60, 100, 2)));
    EXPECT_FALSE(scope.gapPercentile(50).has_value());
    scope.apply(committed(2, 70, step(2, 61, 70, 900, 2)));
    scope.apply(committed(3, 90, step(3, 71, 90, 1900, 3)));
    ASSERT_EQ(scope.tokens().size(), 3u);
    EXPECT_FALSE(scope.tokens()[0].gapMs.has_value());
    EXPECT_DOUBLE_EQ(*scope.tokens()[1].gapMs, 10);
    EXPECT_DOUBLE_EQ(*scope.tokens()[2].gapMs, 20);
    EXPECT_DOUBLE_EQ(*scope.gapPercentile(50), 15);
    EXPECT_EQ(scope.gapCount(), 2);
    EXPECT_DOUBLE_EQ(scope.tokens()[1].bytesPerSecond, 900 / 0.009);
    EXPECT_DOUBLE_EQ(*scope.meanBytesPerSecond(), 2800 / 0.028);
    EXPECT_EQ(scope.kv().usedBlocks, 3);
    EXPECT_EQ(scope.kv().usedBytes, 3000u);
    EXPECT_EQ(scope.kv().tokens, 43);
    EXPECT_EQ(scope.kv().tokensLeft(), 4096 - 43);
}

TEST(ScopeModel, TokensOfOneStepShareOneGap)
{
    ScopeModel scope = liveModel();
    scope.apply(committed(1, 100, step(1, 5, 100, 100, 2)));
    for (int i = 0; i < 3; ++i)
        scope.apply(committed(2, 150, step(2, 101, 150, 100, 2), 3));
    scope.apply(committed(3, 200, step(3, 151, 200, 100, 2), 2));
    scope.apply(committed(3, 200, step(3, 151, 200, 100, 2), 2));
    EXPECT_EQ(scope.gapCount(), 2);  // metrics.md: step gaps 50, 50
    EXPECT_DOUBLE_EQ(*scope.gapPercentile(99), 50);
}

TEST(ScopeModel, EventsOfAnotherRequestChangeNothing)
{
    ScopeModel scope = liveModel();
    const std::size_t revision = scope.revision();
    TokenCommitted other = committed(1, 60, step(1, 5, 60, 100, 2));
    other.request = 8;
    scope.apply(other);
    EXPECT_EQ(scope.revision(), revision);
    EXPECT_TRUE(scope.tokens().empty());
}

TEST(ScopeModel, ATraceReadBackGivesWhatTheLiveEventsGave)
{
    ScopeModel live = liveModel();
    RequestTrace trace;
    trace.tokenisedNs = 2 * kMs;
    trace.admittedNs = 5 * kMs;
    trace.promptTokens = 40;
    trace.kvBlocksPeak = 3;
    trace.kvBytesPeak = 3000;
    trace.steps = {step(1, 5, 60, 100, 2), step(2, 61, 70, 900, 2), step(3, 71, 90, 1900, 3)};
    trace.chunks = {{.endNs = 59 * kMs, .tokens = 40, .stepId = 1}};
    const Nanoseconds times[] = {60, 70, 90};
    for (std::uint32_t i = 0; i < 3; ++i) {
        const TokenCommitted event = committed(i + 1, times[i], trace.steps[i]);
        live.apply(event);
        trace.tokens.push_back(event.stamp);
    }
    ScopeModel readBack;
    readBack.setModel(model());
    readBack.show(trace, {});
    ASSERT_EQ(readBack.tokens().size(), live.tokens().size());
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(readBack.tokens()[i].gapMs, live.tokens()[i].gapMs);
        EXPECT_EQ(readBack.tokens()[i].bytesPerSecond, live.tokens()[i].bytesPerSecond);
    }
    EXPECT_EQ(readBack.kv().usedBytes, live.kv().usedBytes);
    EXPECT_FALSE(readBack.isLive());
}

}  // namespace
}  // namespace tokenscope
