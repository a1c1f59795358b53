#include "storage/trace_codec.h"

#include <gtest/gtest.h>

#include <random>

namespace tokenscope {
namespace {

// As a decode of one sequence on a small model looks: steps of about 8 ms, a few thousand bytes more of cache a token.
RequestTrace decodeTrace(int tokens)
{
    std::mt19937 random(7);
    RequestTrace trace;
    trace.submittedNs = 123'456'789'012'345;
    trace.tokenisedNs = trace.submittedNs + 41'000;
    trace.admittedNs = trace.submittedNs + 77'000;
    trace.chunks = {{trace.submittedNs + 52'000'123, 128, 901}, {trace.submittedNs + 99'000'321, 40, 902}};
    trace.promptTokens = 168;
    trace.kvBlocksPeak = 9;
    trace.kvBytesPeak = 9 * 737'280;
    trace.reason = StopReason::Length;
    Nanoseconds now = trace.submittedNs + 99'100'000;
    std::uint32_t text = 0;
    for (int i = 0; i < tokens; ++i) {
        StepRecord step;
        step.stepId = 903 + static_cast<std::uint32_t>(i);
        step.startNs = now + 900 + static_cast<int>(random() % 4000);
        step.computedNs = step.startNs + 7'000'000 + static_cast<int>(random() % 2'000'000);
        step.endNs = step.computedNs + 20'000 + static_cast<int>(random() % 9000);
        step.rows = 1;
        step.sequences = 1;
        step.weightBytes = 95'000'000;
        step.kvReadBytes = 23'040ull * static_cast<unsigned>(168 + i);
        step.kvWriteBytes = 23'040;
        step.macs = 134'000'000 + 17'280ull * static_cast<unsigned>(i);
        step.newBlocks = i % 32 == 0;
        step.kvBlocksUsed = 6 + i / 32;
        now = step.endNs;
        trace.steps.push_back(step);
        trace.tokens.push_back({.committedNs = now, .stepId = step.stepId, .textBegin = text, .textEnd = text + 4});
        text += 4;
    }
    trace.stoppedNs = now + 500;
    trace.teardownNs = now + 9'000;
    return trace;
}

void expectSame(const RequestTrace& a, const RequestTrace& b)
{
    EXPECT_EQ(a.scheduledNs, b.scheduledNs);
    EXPECT_EQ(a.submittedNs, b.submittedNs);
    EXPECT_EQ(a.tokenisedNs, b.tokenisedNs);
    EXPECT_EQ(a.admittedNs, b.admittedNs);
    EXPECT_EQ(a.stoppedNs, b.stoppedNs);
    EXPECT_EQ(a.teardownNs, b.teardownNs);
    EXPECT_EQ(a.promptTokens, b.promptTokens);
    EXPECT_EQ(a.cachedTokens, b.cachedTokens);
    EXPECT_EQ(a.droppedBytes, b.droppedBytes);
    EXPECT_EQ(a.kvBlocksPeak, b.kvBlocksPeak);
    EXPECT_EQ(a.kvBytesPeak, b.kvBytesPeak);
    EXPECT_EQ(a.reason, b.reason);
    ASSERT_EQ(a.chunks.size(), b.chunks.size());
    for (std::size_t i = 0; i < a.chunks.size(); ++i) {
        EXPECT_EQ(a.chunks[i].endNs, b.chunks[i].endNs);
        EXPECT_EQ(a.chunks[i].tokens, b.chunks[i].tokens);
        EXPECT_EQ(a.chunks[i].stepId, b.chunks[i].stepId);
    }
    ASSERT_EQ(a.tokens.size(), b.tokens.size());
    for (std::size_t i = 0; i < a.tokens.size(); ++i) {
        EXPECT_EQ(a.tokens[i].committedNs, b.tokens[i].committedNs);
        EXPECT_EQ(a.tokens[i].stepId, b.tokens[i].stepId);
        EXPECT_EQ(a.tokens[i].committedInStep, b.tokens[i].committedInStep);
        EXPECT_EQ(a.tokens[i].draftedInStep, b.tokens[i].draftedInStep);
        EXPECT_EQ(a.tokens[i].textBegin, b.tokens[i].textBegin);
        EXPECT_EQ(a.tokens[i].textEnd, b.tokens[i].textEnd);
    }
    ASSERT_EQ(a.steps.size(), b.steps.size());
    for (std::size_t i = 0; i < a.steps.size(); ++i) {
        EXPECT_EQ(a.steps[i].stepId, b.steps[i].stepId);
        EXPECT_EQ(a.steps[i].startNs, b.steps[i].startNs);
        EXPECT_EQ(a.steps[i].computedNs, b.steps[i].computedNs);
        EXPECT_EQ(a.steps[i].endNs, b.steps[i].endNs);
        EXPECT_EQ(a.steps[i].rows, b.steps[i].rows);
        EXPECT_EQ(a.steps[i].prefillRows, b.steps[i].prefillRows);
        EXPECT_EQ(a.steps[i].sequences, b.steps[i].sequences);
        EXPECT_EQ(a.steps[i].weightBytes, b.steps[i].weightBytes);
        EXPECT_EQ(a.steps[i].kvReadBytes, b.steps[i].kvReadBytes);
        EXPECT_EQ(a.steps[i].kvWriteBytes, b.steps[i].kvWriteBytes);
        EXPECT_EQ(a.steps[i].macs, b.steps[i].macs);
        EXPECT_EQ(a.steps[i].newBlocks, b.steps[i].newBlocks);
        EXPECT_EQ(a.steps[i].kvBlocksUsed, b.steps[i].kvBlocksUsed);
    }
}

TEST(TraceCodec, TakesAtMostFortyBytesAToken)
{
    const auto bytes = packTrace(decodeTrace(2000));
    EXPECT_LE(bytes.size(), 2000u * 40u);
}

TEST(TraceCodec, GivesBackEveryFieldButTheTokenIds)
{
    const RequestTrace trace = decodeTrace(200);
    const auto back = unpackTrace(packTrace(trace));
    ASSERT_TRUE(back) << back.error().message;
    expectSame(*back, trace);
}

TEST(TraceCodec, KeepsExtremesAndTimesThatRunBackwards)
{
    RequestTrace trace;
    trace.submittedNs = INT64_MAX;
    trace.scheduledNs = INT64_MIN;
    trace.kvBytesPeak = UINT64_MAX;
    trace.tokens.push_back({.committedNs = INT64_MIN, .stepId = UINT32_MAX, .textBegin = UINT32_MAX, .textEnd = 0});
    trace.tokens.push_back({.committedNs = INT64_MAX, .stepId = 0, .textBegin = 0, .textEnd = UINT32_MAX});
    trace.steps.push_back({.startNs = INT64_MAX, .computedNs = INT64_MIN, .endNs = 0, .macs = UINT64_MAX});
    trace.steps.push_back({.startNs = 0, .macs = 0});
    const auto back = unpackTrace(packTrace(trace));
    ASSERT_TRUE(back) << back.error().message;
    expectSame(*back, trace);
}

TEST(TraceCodec, AnEmptyTraceKeepsItsAbsentTimesAbsent)
{
    const auto back = unpackTrace(packTrace({}));
    ASSERT_TRUE(back);
    EXPECT_FALSE(back->tokenisedNs);
    EXPECT_FALSE(back->stoppedNs);
    EXPECT_TRUE(back->tokens.empty());
}

TEST(TraceCodec, RefusesEveryTruncation)
{
    const auto bytes = packTrace(decodeTrace(5));
    for (std::size_t length = 0; length < bytes.size(); ++length)
        EXPECT_FALSE(unpackTrace(std::span(bytes).first(length))) << length;
}

TEST(TraceCodec, SurvivesEveryFlippedBit)
{
    auto bytes = packTrace(decodeTrace(3));
    for (std::size_t i = 0; i < bytes.size() * 8; ++i) {
        bytes[i / 8] ^= static_cast<std::byte>(1 << (i % 8));
        (void)unpackTrace(bytes);  // an error or other numbers, but no more memory than the bytes can fill
        bytes[i / 8] ^= static_cast<std::byte>(1 << (i % 8));
    }
}

TEST(TraceCodec, NamesAVersionItDoesNotKnow)
{
    auto bytes = packTrace({});
    bytes[3] = std::byte{9};
    const auto back = unpackTrace(bytes);
    ASSERT_FALSE(back);
    EXPECT_NE(back.error().message.find("version 9"), std::string::npos);
}

}  // namespace
}  // namespace tokenscope
