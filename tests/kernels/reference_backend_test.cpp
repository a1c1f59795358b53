#include "kernels/reference/half.h"
#include "kernels/reference/reference_backend.h"
#include "tests/support/tiny_program.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tokenscope::kernels {
namespace {

using test::TinyProgram;
using test::TinyShape;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Everything an architecture may have, at once.
TinyShape fullShape()
{
    return {.headDimV = 24,
            .window = 5,
            .tiedHead = false,
            .headNorms = true,
            .postNorms = true,
            .biases = true,
            .attentionSoftcap = 20.0f,
            .finalSoftcap = 30.0f,
            .pairing = RopePairing::HalfSplit,
            .activation = Activation::GeluTanh};
}

std::vector<std::int32_t> someTokens(int count, int seed)
{
    std::vector<std::int32_t> tokens;
    for (int i = 0; i < count; ++i)
        tokens.push_back((i * 7 + seed * 13 + i * i) % 50);
    return tokens;
}

// A sequence and the blocks it owns; steps are added to a plan piece by piece.
struct Sequence {
    std::vector<std::int32_t> tokens;
    std::vector<std::int32_t> blocks;
    int done = 0;
};

void addRows(StepPlan& plan, Sequence& sequence, int rows)
{
    plan.sequences.push_back({.firstRow = plan.rows(),
                              .rows = rows,
                              .kvLength = sequence.done,
                              .blockTableOffset = static_cast<std::int32_t>(plan.blockTable.size()),
                              .blockCount = static_cast<std::int32_t>(sequence.blocks.size())});
    plan.blockTable.insert(plan.blockTable.end(), sequence.blocks.begin(), sequence.blocks.end());
    for (int i = 0; i < rows; ++i) {
        plan.logitRows.push_back(plan.rows());
        plan.tokens.push_back(sequence.tokens[static_cast<std::size_t>(sequence.done + i)]);
    }
    sequence.done += rows;
}

std::unique_ptr<DeviceModel> loadModel(const LayerProgram& program, int blocks, CacheType type = CacheType::F32)
{
    auto model = makeReferenceBackend()->load(program, {});
    EXPECT_TRUE(model.has_value());
    EXPECT_TRUE((*model)->reserveCache({blocks, type}).has_value());
    return std::move(*model);
}

std::vector<float> logitsOf(DeviceModel& model, const StepPlan& plan)
{
    const auto result = model.runStep(plan, nullptr);
    if (!result) {
        ADD_FAILURE() << result.error().message;
        return {};
    }
    return {result->logits.begin(), result->logits.end()};
}

// All logits of a sequence computed alone in one step, in blocks 0, 1, 2 …
std::vector<float> alone(const LayerProgram& program, const std::vector<std::int32_t>& tokens,
                         CacheType type = CacheType::F32)
{
    const auto model = loadModel(program, 8, type);
    Sequence sequence{tokens, {0, 1, 2, 3, 4, 5, 6, 7}};
    StepPlan plan;
    addRows(plan, sequence, static_cast<int>(tokens.size()));
    return logitsOf(*model, plan);
}

TEST(ReferenceBackend, AnyChunkingGivesTheSameBits)
{
    const TinyProgram tiny(fullShape());
    const auto tokens = someTokens(75, 1);
    const auto whole = alone(tiny.program, tokens);
    for (const int chunk : {1, 5, 32, 33}) {
        const auto model = loadModel(tiny.program, 8);
        Sequence sequence{tokens, {0, 1, 2}};
        std::vector<float> pieces;
        while (sequence.done < 75) {
            StepPlan plan;
            addRows(plan, sequence, std::min(chunk, 75 - sequence.done));
            const auto logits = logitsOf(*model, plan);
            pieces.insert(pieces.end(), logits.begin(), logits.end());
        }
        EXPECT_EQ(pieces, whole) << "chunks of " << chunk;
    }
}

TEST(ReferenceBackend, StrangersInTheStepAndScatteredBlocksChangeNoBit)
{
    const TinyProgram tiny(fullShape());
    std::vector<Sequence> sequences{{someTokens(70, 1), {9, 2, 5}},
                                    {someTokens(33, 2), {7, 0}},
                                    {someTokens(12, 3), {4}},
                                    {someTokens(64, 4), {1, 8}}};
    const auto model = loadModel(tiny.program, 10);
    std::vector<std::vector<float>> collected(sequences.size());
    for (int step = 0; std::any_of(sequences.begin(), sequences.end(),
                                   [](const Sequence& s) { return s.done < static_cast<int>(s.tokens.size()); });
         ++step) {
        StepPlan plan;
        std::vector<std::size_t> members;
        for (std::size_t i = 0; i < sequences.size(); ++i) {
            const int left = static_cast<int>(sequences[i].tokens.size()) - sequences[i].done;
            const int rows = std::min(left, 1 + (step * 5 + static_cast<int>(i) * 3) % 11);
            if (rows == 0)
                continue;
            addRows(plan, sequences[i], rows);
            members.push_back(i);
        }
        const auto logits = logitsOf(*model, plan);
        auto next = logits.begin();
        for (std::size_t m = 0; m < members.size(); ++m) {
            const auto end = next + plan.sequences[m].rows * tiny.program.vocabulary;
            collected[members[m]].insert(collected[members[m]].end(), next, end);
            next = end;
        }
    }
    for (std::size_t i = 0; i < sequences.size(); ++i)
        EXPECT_EQ(collected[i], alone(tiny.program, sequences[i].tokens)) << "sequence " << i;
}

TEST(ReferenceBackend, OnlyTheWantedRowsHaveLogits)
{
    const TinyProgram tiny({});
    const auto tokens = someTokens(40, 1);
    const auto all = alone(tiny.program, tokens);
    const auto model = loadModel(tiny.program, 2);
    Sequence sequence{tokens, {0, 1}};
    StepPlan plan;
    addRows(plan, sequence, 40);
    plan.logitRows = {3, 31, 32, 39};
    const auto some = logitsOf(*model, plan);
    ASSERT_EQ(some.size(), 4u * 50u);
    for (std::size_t i = 0; i < 4; ++i)
        EXPECT_TRUE(std::equal(some.begin() + static_cast<long>(i) * 50, some.begin() + static_cast<long>(i + 1) * 50,
                               all.begin() + plan.logitRows[i] * 50));
    plan.logitRows.clear();
    EXPECT_TRUE(logitsOf(*model, plan).empty());
}

TEST(ReferenceBackend, ARowDependsOnEarlierTokensAndNotOnLaterOnes)
{
    const TinyProgram tiny({});
    auto tokens = someTokens(20, 1);
    const auto before = alone(tiny.program, tokens);
    tokens[10] = (tokens[10] + 1) % 50;
    const auto after = alone(tiny.program, tokens);
    const auto row = [](const std::vector<float>& logits, int r) {
        return std::vector<float>(logits.begin() + r * 50, logits.begin() + (r + 1) * 50);
    };
    EXPECT_EQ(row(before, 9), row(after, 9));
    EXPECT_NE(row(before, 10), row(after, 10));
    EXPECT_NE(row(before, 19), row(after, 19));
}

TEST(ReferenceBackend, AWindowForgetsWhatLeftIt)
{
    const TinyProgram tiny({.layers = 1, .window = 4});
    auto tokens = someTokens(20, 1);
    const auto before = alone(tiny.program, tokens);
    tokens[10] = (tokens[10] + 1) % 50;
    const auto after = alone(tiny.program, tokens);
    const auto differs = [&](int r) {
        return !std::equal(before.begin() + r * 50, before.begin() + (r + 1) * 50, after.begin() + r * 50);
    };
    EXPECT_TRUE(differs(13)) << "10 is the oldest of the four tokens 13 sees";
    EXPECT_FALSE(differs(14));
}

TEST(ReferenceBackend, AnF16CacheIsNearTheF32OneAndNotTheSame)
{
    const TinyProgram tiny({});
    const auto tokens = someTokens(40, 1);
    const auto exact = alone(tiny.program, tokens, CacheType::F32);
    const auto rounded = alone(tiny.program, tokens, CacheType::F16);
    ASSERT_EQ(exact.size(), rounded.size());
    float largest = 0.0f;
    for (std::size_t i = 0; i < exact.size(); ++i)
        largest = std::max(largest, std::abs(exact[i] - rounded[i]));
    EXPECT_GT(largest, 0.0f);
    // Keys and values are off by 2^−11 of themselves; logits of this model reach about 20, and two layers pass it on.
    EXPECT_LT(largest, 20.0f * 0x1p-11f * 8.0f);
}

TEST(ReferenceBackend, ACancelledStepSaysSoAndCanBeRunAgain)
{
    const TinyProgram tiny({});
    const auto tokens = someTokens(40, 1);
    const auto model = loadModel(tiny.program, 2);
    Sequence sequence{tokens, {0, 1}};
    StepPlan plan;
    addRows(plan, sequence, 40);
    const std::atomic<bool> cancelled{true};
    const auto stopped = model->runStep(plan, &cancelled);
    ASSERT_FALSE(stopped.has_value());
    EXPECT_EQ(stopped.error().code, KernelErrorCode::Cancelled);
    EXPECT_EQ(logitsOf(*model, plan), alone(tiny.program, tokens));
}

TEST(ReferenceBackend, ALogitThatIsNotANumberIsAnError)
{
    TinyProgram tiny({});
    // Finite weights whose product is not: 1e30 · 1e30 overflows f32.
    const auto& layer = tiny.program.layers[1];
    for (int i = 0; i < 96; ++i) {
        tiny.values(layer.up)[i * 64] = 1e30f;
        tiny.values(layer.down)[i] = 1e30f;
    }
    const auto model = loadModel(tiny.program, 1);
    Sequence sequence{{1, 2}, {0}};
    StepPlan plan;
    addRows(plan, sequence, 2);
    const auto result = model->runStep(plan, nullptr);
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, KernelErrorCode::NotANumber);
    EXPECT_THAT(result.error().message, HasSubstr("row 0"));
}

TEST(ReferenceBackend, ATokenThatWasNeverComputedCannotPassUnseen)
{
    const TinyProgram tiny({});
    const auto model = loadModel(tiny.program, 1);
    StepPlan plan;
    plan.tokens = {1};
    plan.sequences = {{.firstRow = 0, .rows = 1, .kvLength = 3, .blockTableOffset = 0, .blockCount = 1}};
    plan.blockTable = {0};
    plan.logitRows = {0};
    const auto result = model->runStep(plan, nullptr);
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, KernelErrorCode::NotANumber);
}

TEST(ReferenceBackend, AnInfinityInTheWeightsIsRefusedByName)
{
    TinyProgram tiny({});
    tiny.values(tiny.program.layers[1].k)[3 * 64 + 7] = std::numeric_limits<float>::infinity();
    const auto result = makeReferenceBackend()->load(tiny.program, {});
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, KernelErrorCode::BadWeights);
    EXPECT_THAT(result.error().message, AllOf(HasSubstr("layer 1 key"), HasSubstr("row 3 of 32")));
}

TEST(ReferenceBackend, ShapesThatDoNotFitAreRefused)
{
    TinyProgram tiny({});
    tiny.program.layers[0].gate.rows = 95;
    EXPECT_EQ(makeReferenceBackend()->load(tiny.program, {}).error().code, KernelErrorCode::Unsupported);
}

TEST(ReferenceBackend, LoadingCanBeCancelledAndTellsHowFarItIs)
{
    const TinyProgram tiny({});
    std::atomic<bool> cancelled{false};
    std::vector<double> fractions;
    LoadOptions options{&cancelled, [&](double fraction) {
                            fractions.push_back(fraction);
                            cancelled = fraction > 0.5;
                        }};
    const auto result = makeReferenceBackend()->load(tiny.program, options);
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, KernelErrorCode::Cancelled);

    fractions.clear();
    options.cancelled = nullptr;
    ASSERT_TRUE(makeReferenceBackend()->load(tiny.program, options).has_value());
    EXPECT_TRUE(std::is_sorted(fractions.begin(), fractions.end()));
    EXPECT_EQ(fractions.back(), 1.0);
}

TEST(ReferenceBackend, MemoryIsWhatTheEstimateSaidAndATiedHeadCountsOnce)
{
    for (const bool tied : {true, false}) {
        const TinyProgram tiny({.tiedHead = tied});
        const auto backend = makeReferenceBackend();
        const DeviceMemory estimate = backend->estimate(tiny.program);
        auto model = backend->load(tiny.program, {});
        ASSERT_TRUE(model.has_value());
        EXPECT_EQ((*model)->memory().weightBytes, estimate.weightBytes);
        EXPECT_EQ((*model)->memory().scratchBytes, estimate.scratchBytes);
        EXPECT_EQ((*model)->memory().cacheBytes, 0u);

        const std::size_t layer = 64 * (2 + 64 + 32 + 32 + 64 + 3 * 96);
        EXPECT_EQ(estimate.weightBytes, 4 * (2 * layer + 64 + (tied ? 1 : 2) * 50 * 64));
        ASSERT_TRUE((*model)->reserveCache({3, CacheType::F16}).has_value());
        EXPECT_EQ((*model)->memory().cacheBytes, 3 * cacheBlockBytes(tiny.program, CacheType::F16));
    }
}

TEST(ReferenceBackend, ACacheThatCannotBeHadIsAnErrorAndASmallerOneWorksAfterwards)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "sanitizers abort on an allocation of terabytes instead of refusing it";
#endif
    const TinyProgram tiny({});
    const auto model = loadModel(tiny.program, 2);
    const auto result = model->reserveCache({std::numeric_limits<int>::max(), CacheType::F32});
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, KernelErrorCode::OutOfMemory);
    EXPECT_EQ(model->memory().cacheBytes, 0u);
    EXPECT_TRUE(model->reserveCache({2, CacheType::F32}).has_value());
}

TEST(CacheBlock, HoldsKeysAndValuesOf32TokensOfAllLayers)
{
    const TinyProgram tiny({.layers = 3, .kvHeads = 2, .headDimK = 16, .headDimV = 24});
    EXPECT_EQ(cacheBlockBytes(tiny.program, CacheType::F16), 3u * 32 * 2 * (16 + 24) * 2);
    EXPECT_EQ(cacheBlockBytes(tiny.program, CacheType::F32), 3u * 32 * 2 * (16 + 24) * 4);
}

// Bytes per token of an f16 cache of published models.
TEST(CacheBlock, HasTheKnownSizeForKnownModels)
{
    const auto bytesPerToken = [](int layers, int kvHeads, int headDim) {
        LayerProgram program;
        program.layers.resize(static_cast<std::size_t>(layers));
        program.kvHeads = kvHeads;
        program.headDimK = headDim;
        program.headDimV = headDim;
        return cacheBlockBytes(program, CacheType::F16) / kBlockTokens;
    };
    EXPECT_EQ(bytesPerToken(30, 3, 64), 23'040u);    // SmolLM2-135M
    EXPECT_EQ(bytesPerToken(28, 8, 128), 114'688u);  // Qwen3-0.6B
    EXPECT_EQ(bytesPerToken(16, 8, 64), 32'768u);    // Llama-3.2-1B
}

}  // namespace
}  // namespace tokenscope::kernels
