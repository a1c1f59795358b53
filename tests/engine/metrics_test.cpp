#include "engine/measure/metrics.h"

#include <numeric>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tokenscope {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;

constexpr Nanoseconds kMs = 1'000'000;
constexpr Nanoseconds kSubmit = 5'000 * kMs;  // clocks do not start at 0

auto about(double value)
{
    return Optional(DoubleNear(value, 5e-4));
}

// (time in ms from submit, tokens committed then)
RequestTrace traceOf(const std::vector<std::pair<int, int>>& steps)
{
    RequestTrace trace;
    trace.submittedNs = kSubmit;
    std::uint32_t stepId = 40;
    for (const auto& [at, tokens] : steps) {
        ++stepId;
        for (int i = 0; i < tokens; ++i)
            trace.tokens.push_back({.committedNs = kSubmit + at * kMs, .stepId = stepId, .committedInStep = tokens});
    }
    return trace;
}

// The table of reference vectors, row by row.

TEST(ReferenceVectors, FourTokensOneAStep)
{
    const RequestTrace trace = traceOf({{100, 1}, {120, 1}, {140, 1}, {180, 1}});
    const RequestMetrics m = computeMetrics(trace, std::nullopt);
    EXPECT_THAT(m.ttftMs, about(100));
    EXPECT_THAT(m.tpotMs, about(26.667));
    EXPECT_THAT(m.itlMs, ElementsAre(20, 20, 40));
    EXPECT_THAT(m.normalisedLatencyMs, about(45));
    EXPECT_EQ(m.outputTokens, 4);

    const ConventionMetrics c = computeConventions(trace);
    EXPECT_THAT(c.ttftMs, about(100));
    EXPECT_THAT(c.vllmTpotMs, about(26.667));
    EXPECT_THAT(c.aiperfItlMs, about(26.667));
    EXPECT_THAT(c.aiperfChunkAwareItlMs, about(26.667));
    EXPECT_THAT(c.guidellmTpotMs, about(45));
    EXPECT_THAT(c.guidellmItlMs, about(26.667));
    EXPECT_THAT(c.llmperfItlMs, about(45));
    ASSERT_TRUE(c.mlperfTpotMs.has_value());
    EXPECT_NEAR(*c.mlperfTpotMs, 26.667, 5e-4);
}

TEST(ReferenceVectors, SpeculativeStepsOfOneThreeAndTwo)
{
    const RequestTrace trace = traceOf({{100, 1}, {150, 3}, {200, 2}});
    const RequestMetrics m = computeMetrics(trace, std::nullopt);
    EXPECT_THAT(m.ttftMs, about(100));
    EXPECT_THAT(m.tpotMs, about(20));
    EXPECT_THAT(m.itlMs, ElementsAre(50, 50));
    EXPECT_THAT(m.stepTokens, ElementsAre(1, 3, 2));
    EXPECT_THAT(m.normalisedLatencyMs, about(33.333));

    const ConventionMetrics c = computeConventions(trace);
    EXPECT_THAT(c.stepGapsMs, ElementsAre(50, 50));
    EXPECT_THAT(c.vllmTpotMs, about(20));
    EXPECT_THAT(c.aiperfItlMs, about(20));
    EXPECT_THAT(c.aiperfChunkAwareItlMs, about(20));
    EXPECT_THAT(c.guidellmTpotMs, about(33.333));
    EXPECT_THAT(c.guidellmItlMs, about(20));
    EXPECT_THAT(c.llmperfItlMs, about(33.333));
    EXPECT_NEAR(c.mlperfTpotMs.value(), 20, 5e-4);
}

TEST(ReferenceVectors, SpeculativeStepsOfTwoThreeAndOne)
{
    const RequestTrace trace = traceOf({{100, 2}, {150, 3}, {200, 1}});
    const RequestMetrics m = computeMetrics(trace, std::nullopt);
    EXPECT_THAT(m.ttftMs, about(100));
    EXPECT_THAT(m.tpotMs, about(20));
    EXPECT_THAT(m.itlMs, ElementsAre(50, 50));
    EXPECT_THAT(m.normalisedLatencyMs, about(33.333));

    const ConventionMetrics c = computeConventions(trace);
    EXPECT_THAT(c.vllmTpotMs, about(20));
    EXPECT_THAT(c.aiperfItlMs, about(20));
    EXPECT_THAT(c.aiperfChunkAwareItlMs, about(25));
    EXPECT_THAT(c.guidellmTpotMs, about(33.333));
    EXPECT_THAT(c.guidellmItlMs, about(20));
    EXPECT_THAT(c.llmperfItlMs, about(33.333));
    EXPECT_NEAR(c.mlperfTpotMs.value(), 20, 5e-4);
}

TEST(ReferenceVectors, OneTokenHasATtftButNoTpotAndNoGap)
{
    const RequestTrace trace = traceOf({{100, 1}});
    const RequestMetrics m = computeMetrics(trace, std::nullopt);
    EXPECT_THAT(m.ttftMs, about(100));
    EXPECT_EQ(m.tpotMs, std::nullopt);
    EXPECT_THAT(m.itlMs, IsEmpty());
    EXPECT_EQ(m.itlP50Ms, std::nullopt);
    EXPECT_THAT(m.normalisedLatencyMs, about(100));
    EXPECT_EQ(m.decodeTokensPerSecond, std::nullopt);

    const ConventionMetrics c = computeConventions(trace);
    EXPECT_EQ(c.vllmTpotMs, std::nullopt);
    EXPECT_EQ(c.aiperfItlMs, std::nullopt);
    EXPECT_EQ(c.aiperfChunkAwareItlMs, std::nullopt);
    EXPECT_THAT(c.guidellmTpotMs, about(100));
    EXPECT_EQ(c.guidellmItlMs, std::nullopt);
    EXPECT_THAT(c.llmperfItlMs, about(100));
    EXPECT_FALSE(c.mlperfTpotMs.has_value());
}

TEST(ReferenceVectors, CancelledWithoutATokenHasNoLatencyButAnEnd)
{
    RequestTrace trace = traceOf({});
    trace.stoppedNs = kSubmit + 50 * kMs;
    trace.reason = StopReason::Cancelled;
    const RequestMetrics m = computeMetrics(trace, std::nullopt);
    EXPECT_EQ(m.ttftMs, std::nullopt);
    EXPECT_EQ(m.tpotMs, std::nullopt);
    EXPECT_THAT(m.itlMs, IsEmpty());
    EXPECT_EQ(m.normalisedLatencyMs, std::nullopt);
    EXPECT_THAT(m.e2eMs, about(50));

    const ConventionMetrics c = computeConventions(trace);
    EXPECT_EQ(c.ttftMs, std::nullopt);
    EXPECT_EQ(c.vllmTpotMs, std::nullopt);
    EXPECT_EQ(c.aiperfItlMs, std::nullopt);
    EXPECT_EQ(c.guidellmTpotMs, std::nullopt);
    EXPECT_EQ(c.guidellmItlMs, std::nullopt);
    EXPECT_EQ(c.llmperfItlMs, std::nullopt);
    EXPECT_FALSE(c.mlperfTpotMs.has_value());
}

// Percentiles by the three methods.

struct PercentileCase {
    std::vector<double> values;
    double p;
    double linear, floorIndex, lowerStep;
};

TEST(ReferenceVectors, PercentilesByThreeMethods)
{
    std::vector<double> hundred(100);
    std::iota(hundred.begin(), hundred.end(), 1.0);
    const std::vector<double> four{10, 20, 30, 40};
    const std::vector<double> ten{12, 13, 13, 14, 15, 15, 16, 18, 22, 95};
    const PercentileCase cases[] = {{four, 50, 25, 30, 20},      {four, 99, 39.7, 40, 40},
                                    {ten, 90, 29.3, 95, 22},     {ten, 95, 62.15, 95, 95},
                                    {hundred, 50, 50.5, 51, 50}, {hundred, 99, 99.01, 100, 99}};
    for (const PercentileCase& c : cases) {
        EXPECT_THAT(percentile(c.values, c.p), Optional(DoubleNear(c.linear, 1e-9))) << c.values.size() << " p" << c.p;
        EXPECT_EQ(percentile(c.values, c.p, PercentileMethod::FloorIndex), c.floorIndex);
        EXPECT_EQ(percentile(c.values, c.p, PercentileMethod::LowerStep), c.lowerStep);
    }
}

TEST(Percentile, OfNothingIsAbsentAndOfOneValueIsThatValue)
{
    const double one[] = {7};
    for (const auto method : {PercentileMethod::Linear, PercentileMethod::FloorIndex, PercentileMethod::LowerStep}) {
        EXPECT_EQ(percentile({}, 50, method), std::nullopt);
        for (const double p : {0.0, 50.0, 100.0})
            EXPECT_EQ(percentile(one, p, method), 7);
    }
}

TEST(Percentile, OrderOfTheValuesDoesNotMatterAndTheEndsAreTheExtremes)
{
    const double values[] = {30, 10, 40, 20};
    EXPECT_EQ(percentile(values, 0), 10);
    EXPECT_EQ(percentile(values, 50), 25);
    EXPECT_EQ(percentile(values, 100), 40);
    EXPECT_EQ(percentile(values, 100, PercentileMethod::FloorIndex), 40);
}

TEST(ReferenceVectors, PooledGapsAndPerRequestTpotAnswerDifferentQuestions)
{
    std::vector<std::pair<int, int>> steps;
    for (int i = 0; i < 100; ++i)
        steps.emplace_back(100 + 10 * i, 1);
    const RequestMetrics a = computeMetrics(traceOf(steps), std::nullopt);
    const RequestMetrics b = computeMetrics(traceOf({{100, 1}, {200, 1}}), std::nullopt);
    ASSERT_EQ(a.itlMs.size(), 99u);

    std::vector<double> pooled = a.itlMs;
    pooled.insert(pooled.end(), b.itlMs.begin(), b.itlMs.end());
    EXPECT_THAT(mean(pooled), about(10.9));
    EXPECT_THAT(percentile(pooled, 50), about(10));
    const double perRequest[] = {*a.tpotMs, *b.tpotMs};
    EXPECT_THAT(mean(perRequest), about(55));
    EXPECT_THAT(percentile(perRequest, 50), about(55));
}

TEST(StandardDeviation, IsTheSampleOneAndAbsentBelowTwoValues)
{
    const double values[] = {2, 4, 4, 4, 5, 5, 7, 9};
    EXPECT_THAT(standardDeviation(values), about(2.1381));
    EXPECT_EQ(standardDeviation(std::span(values, 1)), std::nullopt);
    EXPECT_EQ(mean({}), std::nullopt);
}

// TTFT and its parts.

RequestTrace splitTrace()
{
    RequestTrace trace = traceOf({{100, 1}, {120, 1}});
    trace.tokenisedNs = kSubmit + 2 * kMs;
    trace.admittedNs = kSubmit + 10 * kMs;
    trace.chunks = {{.endNs = kSubmit + 50 * kMs, .tokens = 30}, {.endNs = kSubmit + 90 * kMs, .tokens = 10}};
    trace.promptTokens = 45;
    trace.cachedTokens = 5;
    trace.stoppedNs = kSubmit + 121 * kMs;
    return trace;
}

TEST(Ttft, ItsPartsInOrderSumToIt)
{
    const RequestMetrics m = computeMetrics(splitTrace(), std::nullopt);
    EXPECT_THAT(m.tokenizeMs, about(2));
    EXPECT_THAT(m.queueMs, about(8));
    EXPECT_THAT(m.prefillMs, about(80));
    EXPECT_THAT(m.firstSampleMs, about(10));
    EXPECT_THAT(m.ttftMs, about(*m.tokenizeMs + *m.queueMs + *m.prefillMs + *m.firstSampleMs));
    EXPECT_THAT(m.e2eMs, about(121));
    EXPECT_EQ(m.clientQueueMs, std::nullopt);
    EXPECT_EQ(m.promptTokens, 45);
    EXPECT_EQ(m.cachedTokens, 5);
}

TEST(Ttft, UnderOpenLoopLoadCountsFromTheScheduledArrival)
{
    RequestTrace trace = splitTrace();
    trace.scheduledNs = kSubmit - 7 * kMs;
    const RequestMetrics m = computeMetrics(trace, std::nullopt);
    EXPECT_THAT(m.ttftMs, about(107));
    EXPECT_THAT(m.clientQueueMs, about(7));
    EXPECT_THAT(m.e2eMs, about(128));
    EXPECT_THAT(m.normalisedLatencyMs, about(63.5));
    EXPECT_THAT(computeConventions(trace).guidellmTpotMs, about(60)) << "other tools start when they send";
}

TEST(PrefillSpeed, CountsComputedTokensAndLeavesTheFirstSampleOut)
{
    const RequestMetrics m = computeMetrics(splitTrace(), std::nullopt);
    EXPECT_THAT(m.prefillTokensPerSecond, about(40 / 0.080));
    EXPECT_THAT(m.decodeTokensPerSecond, about(50));
}

TEST(PrefillSpeed, OfAPromptThatWasNotFinishedIsAbsent)
{
    RequestTrace trace = splitTrace();
    trace.tokens.clear();
    trace.chunks.pop_back();
    const RequestMetrics m = computeMetrics(trace, std::nullopt);
    EXPECT_EQ(m.prefillMs, std::nullopt);
    EXPECT_EQ(m.prefillTokensPerSecond, std::nullopt);
    EXPECT_EQ(m.firstSampleMs, std::nullopt);
    EXPECT_THAT(m.queueMs, about(8));
}

TEST(PrefillSpeed, PartsComputedAgainAfterTheFirstTokenAreNotPrefill)
{
    RequestTrace trace = splitTrace();
    trace.chunks.push_back({.endNs = kSubmit + 110 * kMs, .tokens = 45});
    EXPECT_THAT(computeMetrics(trace, std::nullopt).prefillMs, about(80));
}

TEST(Metrics, OfATraceThatNeverStartedAreAllAbsent)
{
    const RequestMetrics m = computeMetrics(RequestTrace{}, MeasuredCeilings{1e9, 1e9, 1e9});
    EXPECT_EQ(m.ttftMs, std::nullopt);
    EXPECT_EQ(m.e2eMs, std::nullopt);
    EXPECT_EQ(m.prefillMs, std::nullopt);
    EXPECT_EQ(m.mbu, std::nullopt);
    EXPECT_EQ(m.mfu, std::nullopt);
    EXPECT_EQ(m.decodeMfu, std::nullopt);
    EXPECT_EQ(m.outputTokens, 0);
}

// Utilisation.

RequestTrace workTrace()
{
    RequestTrace trace = splitTrace();
    trace.steps = {{.startNs = 0,
                    .computedNs = 40 * kMs,
                    .endNs = 41 * kMs,
                    .rows = 40,
                    .prefillRows = 40,
                    .weightBytes = 1'000'000'000,
                    .macs = 2'000'000'000},
                   {.startNs = 50 * kMs,
                    .computedNs = 58 * kMs,
                    .endNs = 60 * kMs,
                    .rows = 1,
                    .weightBytes = 90'000'000,
                    .kvReadBytes = 9'000'000,
                    .kvWriteBytes = 1'000'000,
                    .macs = 100'000'000},
                   {.startNs = 60 * kMs,
                    .computedNs = 70 * kMs,
                    .endNs = 70 * kMs,
                    .rows = 1,
                    .weightBytes = 90'000'000,
                    .kvReadBytes = 9'000'000,
                    .kvWriteBytes = 1'000'000,
                    .macs = 80'000'000}};
    return trace;
}

TEST(Utilisation, MbuIsTheDecodeStepsBytesOverTheirTimeOverTheReadCeiling)
{
    const RequestMetrics m = computeMetrics(workTrace(), MeasuredCeilings{20e9, 200e9, 50e9});
    EXPECT_THAT(m.mbu, about(200e6 / 0.020 / 20e9));
}

TEST(Utilisation, MfuIsOfThePrefillAndTheCeilingIsThatOfTheInstructionsInUse)
{
    MeasuredCeilings ceilings{20e9, 200e9, 50e9};
    RequestMetrics m = computeMetrics(workTrace(), ceilings);
    EXPECT_THAT(m.mfu, about(2e9 / 0.040 / 200e9));
    EXPECT_THAT(m.decodeMfu, about(180e6 / 0.018 / 200e9));
    ceilings.computesInt8 = false;
    m = computeMetrics(workTrace(), ceilings);
    EXPECT_THAT(m.mfu, about(2e9 / 0.040 / 50e9));
}

TEST(Utilisation, AboveOneIsShownNotCutOff)
{
    EXPECT_THAT(computeMetrics(workTrace(), MeasuredCeilings{5e9, 1e9, 1e9}).mbu, about(2.0));
}

TEST(Utilisation, WithoutCeilingsIsAbsentNotZero)
{
    EXPECT_EQ(computeMetrics(workTrace(), std::nullopt).mbu, std::nullopt);
    EXPECT_EQ(computeMetrics(workTrace(), MeasuredCeilings{}).mbu, std::nullopt);
    EXPECT_EQ(computeMetrics(workTrace(), MeasuredCeilings{}).mfu, std::nullopt);
}

TEST(Drafts, AreCountedOnceAStepAndTheModelsOwnTokenIsNotAccepted)
{
    RequestTrace trace = traceOf({{100, 1}, {150, 3}, {200, 1}, {250, 1}});
    for (std::size_t i = 1; i <= 4; ++i)
        trace.tokens[i].draftedInStep = 4;
    const RequestMetrics m = computeMetrics(trace, std::nullopt);
    EXPECT_EQ(m.draftedTokens, 8);
    EXPECT_EQ(m.acceptedTokens, 2);
}

}  // namespace
}  // namespace tokenscope
