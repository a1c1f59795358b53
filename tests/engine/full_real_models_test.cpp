#include "tests/engine/real_models.h"

#include <tuple>

namespace tokenscope::real_models {
namespace {

class FullRealModels : public ::testing::TestWithParam<std::tuple<std::string, Path>> {
protected:
    void SetUp() override
    {
        if (!modelFile(model()))
            GTEST_SKIP() << test::kNoModel;
    }
    const std::string& model() const { return std::get<0>(GetParam()); }
    const Path& path() const { return std::get<1>(GetParam()); }
};

TEST_P(FullRealModels, GreedyStepsAreThoseOfTheReferenceValues)
{
    LoadedEngine engine(model(), path());
    LogitDifference difference;
    const auto prompts = readJson("greedy.json")[model()];
    for (const auto& prompt : prompts)
        expectGreedySteps(engine, prompt, path(), 32, difference);
    EXPECT_LE(difference.sum / difference.count, path().isExact() ? 2e-3 : 0.25);
    RecordProperty("mean_logit_difference", std::to_string(difference.sum / difference.count));
    RecordProperty("largest_logit_difference", std::to_string(difference.largest));
}

TEST_P(FullRealModels, PerplexityIsThatOfTheReferenceValues)
{
    LoadedEngine engine(model(), path());
    const auto windows = readJson("perplexity.json")["windows"][model()];
    for (std::size_t i = 0; i < windows.size(); ++i) {
        const std::vector<TokenId> ids = engine.window(static_cast<int>(i), windows[i]["tokens"].get<int>());
        const auto firstIds = windows[i]["first_ids"].get<std::vector<TokenId>>();
        ASSERT_TRUE(std::equal(firstIds.begin(), firstIds.end(), ids.begin()));
        const std::vector<TokenScore> scores = engine.score(ids, 0);
        ASSERT_EQ(scores.size(), windows[i]["scored"].get<std::size_t>());
        EXPECT_NEAR(meanNll(scores), windows[i]["mean_nll"].get<double>(), path().isExact() ? 1e-4 : 0.015)
            << "window " << i;
    }
}

INSTANTIATE_TEST_SUITE_P(Models, FullRealModels,
                         ::testing::Combine(::testing::Values("smollm2", "gemma3"), ::testing::ValuesIn(paths())),
                         [](const auto& testInfo) {
                             return std::get<0>(testInfo.param) + "_" + std::get<1>(testInfo.param).name;
                         });

}  // namespace
}  // namespace tokenscope::real_models
