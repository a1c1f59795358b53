#include "engine/sample/sampler.h"

#include "engine/sample/logits.h"
#include "engine/sample/random.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace tokenscope {
namespace {

SamplingSettings plainSettings()
{
    SamplingSettings settings;
    settings.temperature = 1.0;
    settings.topK = 0;
    settings.topP = 1.0;
    settings.minP = 0.0;
    return settings;
}

std::vector<float> randomLogits(std::size_t count, unsigned seed, float spread)
{
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0.0f, spread);
    std::vector<float> logits(count);
    for (float& v : logits)
        v = normal(random);
    return logits;
}

// Shares of `draws` draws, by id.
std::vector<double> drawnShares(const std::vector<float>& logits, const SamplingSettings& settings, int draws,
                                const std::vector<TokenId>& history = {})
{
    Sampler sampler;
    std::vector<double> shares(logits.size(), 0.0);
    for (int i = 0; i < draws; ++i)
        shares[static_cast<std::size_t>(
            sampler.sample(logits, settings, history, {7, 0, static_cast<std::uint32_t>(i)}).value())] += 1.0 / draws;
    return shares;
}

std::vector<double> softmax(const std::vector<double>& logits)
{
    std::vector<double> result;
    for (double v : logits)
        result.push_back(std::exp(v));
    const double total = std::accumulate(result.begin(), result.end(), 0.0);
    for (double& v : result)
        v /= total;
    return result;
}

// Each share is within five standard deviations of a binomial with the expected probability.
void expectShares(const std::vector<double>& shares, const std::vector<double>& expected, int draws)
{
    ASSERT_EQ(shares.size(), expected.size());
    for (std::size_t i = 0; i < shares.size(); ++i)
        EXPECT_NEAR(shares[i], expected[i], 5.0 * std::sqrt(expected[i] * (1.0 - expected[i]) / draws) + 1e-12)
            << "id " << i;
}

constexpr int kDraws = 20000;

TEST(Philox, AgreesWithTheKnownAnswersOfItsAuthors)
{
    // kat_vectors of Random123, philox4x32 with 10 rounds.
    using Words = std::array<std::uint32_t, 4>;
    EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
    EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
              (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
    EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
              (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, EveryPartOfTheKeyChangesTheNumber)
{
    const double base = uniformAt(1, 2, 3, RandomPurpose::Token);
    EXPECT_EQ(base, uniformAt(1, 2, 3, RandomPurpose::Token));
    EXPECT_NE(base, uniformAt(2, 2, 3, RandomPurpose::Token));
    EXPECT_NE(base, uniformAt(1 + (1ull << 32), 2, 3, RandomPurpose::Token));
    EXPECT_NE(base, uniformAt(1, 3, 3, RandomPurpose::Token));
    EXPECT_NE(base, uniformAt(1, 2, 4, RandomPurpose::Token));
}

TEST(Logits, TheLargestAreThoseOfAFullSort)
{
    for (unsigned seed = 0; seed < 20; ++seed) {
        std::vector<float> logits = randomLogits(1000, seed, 3.0f);
        for (float& v : logits)
            v = std::round(v * 4.0f) / 4.0f;  // many ties
        std::vector<TokenId> ids(logits.size());
        std::iota(ids.begin(), ids.end(), 0);
        std::stable_sort(ids.begin(), ids.end(), [&](TokenId a, TokenId b) {
            return logits[static_cast<std::size_t>(a)] > logits[static_cast<std::size_t>(b)];
        });
        for (int k : {0, 1, 5, 64, 999, 1000, 2000}) {
            std::vector<TopLogit> top;
            selectLargest(logits, k, top);
            ASSERT_EQ(top.size(), std::min<std::size_t>(static_cast<std::size_t>(k), logits.size()));
            for (std::size_t i = 0; i < top.size(); ++i)
                ASSERT_EQ(top[i].id, ids[i]);
        }
    }
}

TEST(Logits, TheNucleusIsThatOfAFullSort)
{
    for (unsigned seed = 0; seed < 30; ++seed) {
        const float spread = seed % 3 == 0 ? 0.001f : seed % 3 == 1 ? 1.0f : 8.0f;  // flat to peaked
        const std::vector<float> logits = randomLogits(3000, seed, spread);
        std::vector<TokenId> ids(logits.size());
        std::iota(ids.begin(), ids.end(), 0);
        std::stable_sort(ids.begin(), ids.end(), [&](TokenId a, TokenId b) {
            return logits[static_cast<std::size_t>(a)] > logits[static_cast<std::size_t>(b)];
        });
        const auto probabilities = softmax({logits.begin(), logits.end()});
        for (double p : {0.0, 0.1, 0.5, 0.9, 0.99}) {
            std::set<TokenId> expected;
            double sum = 0.0;
            for (TokenId id : ids) {
                expected.insert(id);
                sum += probabilities[static_cast<std::size_t>(id)];
                if (sum >= p)
                    break;
            }
            std::vector<TopLogit> nucleus;
            selectNucleus(logits, largestLogit(logits).value(), p, nucleus);
            // Sums in another order and in float exponentials may move the border by one.
            EXPECT_NEAR(static_cast<double>(nucleus.size()), static_cast<double>(expected.size()), 1.0);
            std::set<TokenId> got;
            for (const TopLogit& candidate : nucleus)
                got.insert(candidate.id);
            EXPECT_EQ(got.size(), nucleus.size());
            const auto& larger = got.size() > expected.size() ? got : expected;
            const auto& smaller = got.size() > expected.size() ? expected : got;
            EXPECT_TRUE(std::includes(larger.begin(), larger.end(), smaller.begin(), smaller.end()));
        }
    }
}

TEST(Logits, TheNucleusOfEqualLogitsTakesTheLowestIds)
{
    std::vector<float> logits(1000, 2.0f);
    std::vector<TopLogit> nucleus;
    selectNucleus(logits, 2.0f, 0.25, nucleus);
    ASSERT_EQ(nucleus.size(), 250u);
    EXPECT_EQ(nucleus.front().id, 0);
    EXPECT_EQ(nucleus.back().id, 249);
}

TEST(Logits, LogSumExpOfLargeLogitsDoesNotOverflow)
{
    EXPECT_NEAR(logSumExp(std::vector<float>{1000.0f, 1000.0f}, 1000.0f), 1000.0 + std::log(2.0), 1e-9);
}

TEST(Logits, NaNAndInfinityAreErrorsThatNameTheToken)
{
    std::vector<float> logits(10000, 1.0f);
    logits[7777] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_EQ(largestLogit(logits).error().code, ErrorCode::NotANumber);
    EXPECT_NE(largestLogit(logits).error().message.find("7777"), std::string::npos);
    logits[7777] = std::numeric_limits<float>::infinity();
    EXPECT_EQ(largestLogit(logits).error().code, ErrorCode::NotANumber);
    logits.assign(10, -std::numeric_limits<float>::infinity());
    EXPECT_EQ(largestLogit(logits).error().code, ErrorCode::NotANumber);
}

TEST(Sampler, GreedyTakesTheLowestIdOfEqualLogits)
{
    SamplingSettings greedy;
    greedy.temperature = 0.0;
    Sampler sampler;
    EXPECT_EQ(sampler.sample(std::vector<float>{1, 5, 5, 2}, greedy, {}, {}).value(), 1);
}

TEST(Sampler, TemperatureShapesTheDistribution)
{
    SamplingSettings settings = plainSettings();
    settings.temperature = 0.5;
    const std::vector<float> logits{0.0f, 0.5f, 1.0f, -1.0f};
    expectShares(drawnShares(logits, settings, kDraws), softmax({0.0, 1.0, 2.0, -2.0}), kDraws);
}

TEST(Sampler, TopKDrawsAmongTheLargestOnly)
{
    SamplingSettings settings = plainSettings();
    settings.topK = 2;
    const auto two = softmax({1.0, 2.0});
    expectShares(drawnShares({1.0f, 0.5f, 2.0f, 0.9f}, settings, kDraws), {two[0], 0.0, two[1], 0.0}, kDraws);
}

TEST(Sampler, TopPJudgesBeforeTemperature)
{
    // p = 0.5, 0.3, 0.2. With temperature first (1/10) the largest alone would have more than 0.6.
    const std::vector<float> logits{std::log(0.2f), std::log(0.5f), std::log(0.3f)};
    SamplingSettings settings = plainSettings();
    settings.topP = 0.6;
    settings.temperature = 5.0;
    const auto two = softmax({std::log(0.5) / 5.0, std::log(0.3) / 5.0});
    expectShares(drawnShares(logits, settings, kDraws), {0.0, two[0], two[1]}, kDraws);
    settings.topK = 2;  // judged among the two that are left: 0.625, 0.375 → the first alone reaches 0.6
    expectShares(drawnShares(logits, settings, kDraws), {0.0, 1.0, 0.0}, kDraws);
}

TEST(Sampler, MinPIsAShareOfTheLargestProbability)
{
    const std::vector<float> logits{std::log(0.2f), std::log(0.5f), std::log(0.3f)};
    SamplingSettings settings = plainSettings();
    settings.minP = 0.5;
    expectShares(drawnShares(logits, settings, kDraws), {0.0, 0.625, 0.375}, kDraws);
    settings.minP = 1.0;
    expectShares(drawnShares(logits, settings, kDraws), {0.0, 1.0, 0.0}, kDraws);
}

TEST(Sampler, PenaltiesFollowTheirFormulas)
{
    SamplingSettings settings = plainSettings();
    settings.repeatPenalty = 2.0;
    settings.frequencyPenalty = 0.25;
    settings.presencePenalty = 0.5;
    // id 0 seen twice: 1 / 2 − 0.5 − 0.5 = −0.5; id 1 once: −1 · 2 − 0.25 − 0.5 = −2.75; id 2 never.
    expectShares(drawnShares({1.0f, -1.0f, 0.0f}, settings, kDraws, {0, 1, 0}), softmax({-0.5, -2.75, 0.0}), kDraws);
}

TEST(Sampler, PenaltiesForgetTokensOutsideTheirWindow)
{
    SamplingSettings settings = plainSettings();
    settings.temperature = 0.0;
    settings.presencePenalty = 10.0;
    std::vector<TokenId> history(kPenaltyWindow + 1, 1);
    history.front() = 0;
    Sampler sampler;
    EXPECT_EQ(sampler.sample(std::vector<float>{1.0f, 0.9f}, settings, history, {}).value(), 0);
    history[1] = 0;
    EXPECT_EQ(sampler.sample(std::vector<float>{1.0f, 0.9f}, settings, history, {}).value(), 0)
        << "both were seen, the larger stays ahead";
    history.assign(kPenaltyWindow, 0);
    EXPECT_EQ(sampler.sample(std::vector<float>{1.0f, 0.9f}, settings, history, {}).value(), 1);
}

TEST(Sampler, AllFiltersTogetherKeepAtLeastTheLargest)
{
    const std::vector<float> logits = randomLogits(500, 3, 2.0f);
    const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
    Sampler sampler;
    for (int topK : {0, 1, 40})
        for (double topP : {0.0, 1e-9, 0.5, 1.0})
            for (double minP : {0.0, 0.5, 1.0})
                for (std::uint32_t position = 0; position < 50; ++position) {
                    SamplingSettings settings = plainSettings();
                    settings.topK = topK;
                    settings.topP = topP;
                    settings.minP = minP;
                    const auto id = sampler.sample(logits, settings, {}, {1, 0, position});
                    ASSERT_TRUE(id.has_value());
                    if (topK == 1 || topP < 1e-3 || minP == 1.0) {
                        ASSERT_EQ(*id, best);
                    }
                }
}

TEST(Sampler, NegativeInfinityIsNeverDrawn)
{
    const float never = -std::numeric_limits<float>::infinity();
    for (double topP : {1.0, 0.9999}) {
        SamplingSettings settings = plainSettings();
        settings.topP = topP;
        const auto shares = drawnShares({never, 0.0f, never, 0.0f}, settings, 1000);
        EXPECT_EQ(shares[0] + shares[2], 0.0);
    }
}

TEST(Sampler, NaNIsAnErrorAlsoWithGreedyAndPenalties)
{
    SamplingSettings settings = plainSettings();
    settings.temperature = 0.0;
    settings.repeatPenalty = 1.5;
    Sampler sampler;
    const std::vector<float> logits{1.0f, std::numeric_limits<float>::quiet_NaN()};
    EXPECT_EQ(sampler.sample(logits, settings, std::vector<TokenId>{1}, {}).error().code, ErrorCode::NotANumber);
}

TEST(Sampler, SettingsOutOfRangeAreRefusedByName)
{
    SamplingSettings settings;
    EXPECT_TRUE(checkSampling(settings).has_value());
    settings.temperature = std::numeric_limits<double>::quiet_NaN();
    EXPECT_EQ(checkSampling(settings).error().code, ErrorCode::BadSetting);
    settings = {};
    settings.topP = 1.5;
    EXPECT_NE(checkSampling(settings).error().message.find("top_p=1.5"), std::string::npos);
    settings = {};
    settings.maxTokens = 0;
    EXPECT_FALSE(checkSampling(settings).has_value());
    settings = {};
    settings.repeatPenalty = 0.0;
    EXPECT_FALSE(checkSampling(settings).has_value());
}

}  // namespace
}  // namespace tokenscope
