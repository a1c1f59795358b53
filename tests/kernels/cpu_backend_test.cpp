// Loading, memory and failures of the CPU backend.
#include "kernels/cpu/cpu_backend.h"
#include "tests/kernels/step_driver.h"
#include "tests/support/tiny_program.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <thread>

namespace tokenscope::kernels::test {
namespace {

using tokenscope::test::TinyProgram;
using tokenscope::test::TinyShape;

std::unique_ptr<Backend> best(int threads = 2)
{
    return makeCpuBackend({availableIsas().back(), threads}).value();
}

TEST(CpuBackend, RefusesThreadsOutsideItsRangeAndNamesTheLimit)
{
    for (const int threads : {0, -1, 4 * physicalCores() + 1}) {
        const auto backend = makeCpuBackend({Isa::Scalar, threads});
        ASSERT_FALSE(backend.has_value());
        EXPECT_EQ(backend.error().code, KernelErrorCode::Unsupported);
        EXPECT_NE(backend.error().message.find(std::to_string(4 * physicalCores())), std::string::npos);
    }
}

TEST(CpuBackend, DescribesWhatItRunsOn)
{
    EXPECT_EQ(makeCpuBackend({Isa::Scalar, 1}).value()->description(), "CPU · scalar · 1 thread");
    EXPECT_EQ(makeCpuBackend({Isa::Scalar, 2}).value()->description(), "CPU · scalar · 2 threads");
}

TEST(CpuBackend, TheEstimateIsWhatLoadingTakes)
{
    for (const bool tied : {true, false}) {
        TinyShape shape;
        shape.tiedHead = tied;
        shape.biases = true;
        shape.headNorms = !tied;
        shape.vocabulary = 501;
        TinyProgram tiny(shape);
        const auto backend = best();
        const DeviceMemory estimate = backend->estimate(tiny.program);
        const auto model = backend->load(tiny.program, {}).value();
        EXPECT_EQ(model->memory().weightBytes, estimate.weightBytes);
        EXPECT_EQ(model->memory().scratchBytes, estimate.scratchBytes);
        EXPECT_EQ(model->memory().cacheBytes, 0u);
        ASSERT_TRUE(model->reserveCache({64, CacheType::F32}).has_value());
        EXPECT_EQ(model->memory().cacheBytes, 64 * cacheBlockBytes(tiny.program, CacheType::F32));
    }
}

TEST(CpuBackend, ATiedHeadIsHeldOnce)
{
    TinyShape shape;
    shape.vocabulary = 4096;
    const std::size_t tied = best()->estimate(TinyProgram(shape).program).weightBytes;
    shape.tiedHead = false;
    const std::size_t apart = best()->estimate(TinyProgram(shape).program).weightBytes;
    EXPECT_GE(apart, tied + 4096 * 64 * sizeof(float));
}

TEST(CpuBackend, ReportsProgressUpToTheEndAndCanBeCancelled)
{
    TinyProgram tiny(TinyShape{});
    std::vector<double> fractions;
    LoadOptions options;
    options.progress = [&](double fraction) { fractions.push_back(fraction); };
    ASSERT_TRUE(best()->load(tiny.program, options).has_value());
    EXPECT_TRUE(std::is_sorted(fractions.begin(), fractions.end()));
    EXPECT_GT(fractions.size(), 5u);
    EXPECT_EQ(fractions.back(), 1.0);

    std::atomic<bool> cancelled{false};
    options.cancelled = &cancelled;
    options.progress = [&](double) { cancelled = true; };
    const auto result = best()->load(tiny.program, options);
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, KernelErrorCode::Cancelled);
}

TEST(CpuBackend, ABadWeightIsRefusedWithTheTensorsName)
{
    TinyProgram tiny(TinyShape{});
    tiny.values(tiny.program.layers[1].ffnNorm)[3] = std::numeric_limits<float>::infinity();
    auto result = best()->load(tiny.program, {});
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, KernelErrorCode::BadWeights);
    EXPECT_NE(result.error().message.find("layer 1 feed-forward norm"), std::string::npos) << result.error().message;

    TinyProgram other(TinyShape{});
    other.values(other.program.layers[0].down)[70] = std::nanf("");
    result = best()->load(other.program, {});
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, KernelErrorCode::BadWeights);
    EXPECT_NE(result.error().message.find("layer 0 down"), std::string::npos) << result.error().message;
}

TEST(CpuBackend, HeadsThatAreNoMultipleOfEightAreRefused)
{
    TinyShape shape;
    shape.headDimK = shape.headDimV = 12;
    const auto result = best()->load(TinyProgram(shape).program, {});
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, KernelErrorCode::Unsupported);
    EXPECT_NE(result.error().message.find("12"), std::string::npos);
}

TEST(CpuBackend, ACacheThatDoesNotFitIsAnErrorAndLeavesNone)
{
    TinyProgram tiny(TinyShape{});
    const auto model = best()->load(tiny.program, {}).value();
    ASSERT_TRUE(model->reserveCache({8, CacheType::F16}).has_value());
    const auto result = model->reserveCache({std::numeric_limits<int>::max(), CacheType::F32});
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, KernelErrorCode::OutOfMemory);
    EXPECT_NE(result.error().message.find("2147483647 blocks"), std::string::npos) << result.error().message;
    EXPECT_EQ(model->memory().cacheBytes, 0u);
    EXPECT_TRUE(model->reserveCache({8, CacheType::F16}).has_value());
}

TEST(CpuBackend, ACancelledStepSaysSoAndTheNextOneIsRight)
{
    TinyProgram tiny(TinyShape{});
    const int vocabulary = tiny.program.vocabulary;
    const auto model = best()->load(tiny.program, {}).value();
    StepDriver driver(*model, vocabulary, {8, CacheType::F32});
    const auto tokens = randomTokens(40, vocabulary, 3);
    const StepPlan plan = driver.plan({{0, tokens}});
    const std::atomic<bool> cancelled{true};
    const auto result = model->runStep(plan, &cancelled);
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, KernelErrorCode::Cancelled);

    const auto again = model->runStep(plan, nullptr).value();
    const std::vector<float> logits(again.logits.begin(), again.logits.end());
    const auto fresh = best(1)->load(tiny.program, {}).value();
    StepDriver other(*fresh, vocabulary, {8, CacheType::F32}, 5);
    const Logits want = other.run({{0, tokens}});
    for (std::size_t row = 0; row < want.size(); ++row)
        EXPECT_TRUE(std::equal(want[row].begin(), want[row].end(),
                               logits.begin() + static_cast<std::ptrdiff_t>(row) * vocabulary));
}

TEST(CpuBackend, LogitsThatAreNoNumbersEndTheStep)
{
    TinyProgram tiny(TinyShape{});
    float* norm = tiny.values(tiny.program.outputNorm);
    for (int i = 0; i < tiny.program.embedding; ++i)
        norm[i] = 3e38f;
    const auto model = best()->load(tiny.program, {}).value();
    StepDriver driver(*model, tiny.program.vocabulary, {8, CacheType::F16});
    StepPlan plan = driver.plan({{0, {1, 2, 3}}});
    plan.logitRows = {2};
    const auto result = model->runStep(plan, nullptr);
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, KernelErrorCode::NotANumber);
    EXPECT_NE(result.error().message.find("position 2"), std::string::npos) << result.error().message;
}

TEST(CpuBackend, MoreLogitsThanReservedAreCounted)
{
    TinyShape shape;
    shape.vocabulary = 5000;
    TinyProgram tiny(shape);
    const auto model = best()->load(tiny.program, {}).value();
    const std::size_t before = model->memory().scratchBytes;
    StepDriver driver(*model, shape.vocabulary, {8, CacheType::F16});
    EXPECT_EQ(driver.run({{0, randomTokens(60, shape.vocabulary, 1)}}).size(), 60u);
    EXPECT_GE(model->memory().scratchBytes, before + 50 * 5000 * sizeof(float));
}

TEST(CpuBackend, AModelOutlivesItsBackendAndRunsOnAnotherThread)
{
    TinyProgram tiny(TinyShape{});
    auto backend = best();
    const auto model = backend->load(tiny.program, {}).value();
    backend.reset();
    std::thread([&] {
        StepDriver driver(*model, tiny.program.vocabulary, {8, CacheType::F16});
        EXPECT_EQ(driver.run({{0, {1, 2}}}).size(), 2u);
    }).join();
}

}  // namespace
}  // namespace tokenscope::kernels::test
