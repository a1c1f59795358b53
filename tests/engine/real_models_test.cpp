// The short form of full_real_models_test.cpp: one 64-token window for each path, compared with the value that the
// reference kernels gave (tests/data/short_reference.json), and two prompts × 8 steps for each fast path (those of the
// reference are tests/kernels/reference_model_test.cpp).
#include "tests/engine/real_models.h"

#include <tuple>

namespace tokenscope::real_models {
namespace {

class RealModels : public ::testing::TestWithParam<std::tuple<std::string, Path>> {
protected:
    void SetUp() override
    {
        if (!modelFile(model()))
            GTEST_SKIP() << test::kNoModel;
    }
    const std::string& model() const { return std::get<0>(GetParam()); }
    const Path& path() const { return std::get<1>(GetParam()); }
};

class RealModelsFast : public RealModels {};

TEST_P(RealModels, AShortWindowHasThePerplexityOfTheReferenceKernels)
{
    const auto stored = readJson("short_reference.json")[model()];
    LoadedEngine engine(model(), path());
    const std::vector<TokenScore> scores = engine.score(engine.window(0, stored["tokens"].get<int>()), 0);
    ASSERT_EQ(scores.size(), stored["scored"].get<std::size_t>());
    // The reference kernels gave the stored value. Of 8-bit activations the mean over 63 tokens scatters
    // √(511 / 63) = 2.8 times as much as over a window of 512, where 0.015 is allowed.
    EXPECT_NEAR(meanNll(scores), stored["mean_nll"].get<double>(), path().isExact() ? 1e-6 : 0.043);
}

TEST_P(RealModelsFast, TheFirstGreedyStepsAreThoseOfTheReferenceValues)
{
    LoadedEngine engine(model(), path());
    LogitDifference difference;
    const auto prompts = readJson("greedy.json")[model()];
    for (std::size_t i = 0; i < 2; ++i)
        expectGreedySteps(engine, prompts[i], path(), 8, difference);
    EXPECT_LE(difference.sum / difference.count, 0.25);
}

std::string nameOf(const ::testing::TestParamInfo<std::tuple<std::string, Path>>& testInfo)
{
    return std::get<0>(testInfo.param) + "_" + std::get<1>(testInfo.param).name;
}

std::vector<Path> fastPaths()
{
    std::vector<Path> fast = paths();
    std::erase_if(fast, [](const Path& path) { return path.isExact(); });
    return fast;
}

INSTANTIATE_TEST_SUITE_P(Models, RealModels,
                         ::testing::Combine(::testing::Values("smollm2", "gemma3"), ::testing::ValuesIn(paths())),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Models, RealModelsFast,
                         ::testing::Combine(::testing::Values("smollm2", "gemma3"), ::testing::ValuesIn(fastPaths())),
                         nameOf);

}  // namespace
}  // namespace tokenscope::real_models
