#include "kernels/reference/operations.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace tokenscope::kernels {
namespace {

constexpr float kUlp = std::numeric_limits<float>::epsilon();

std::vector<float> randomValues(std::size_t count, std::uint32_t seed)
{
    std::mt19937 random(seed);
    std::vector<float> values(count);
    for (float& v : values)
        v = static_cast<float>(random() >> 8) * 0x1p-23f - 1.0f;
    return values;
}

TEST(RmsNorm, DividesByTheRootOfTheMeanSquareAndMultipliesByTheWeight)
{
    const float x[] = {3, 4, 0, 0};  // mean square 6.25
    const float weight[] = {1, 2, 3, 4};
    float out[4];
    rmsNorm(out, x, weight, 0.0f);
    EXPECT_FLOAT_EQ(out[0], 1.2f);
    EXPECT_FLOAT_EQ(out[1], 3.2f);
    EXPECT_EQ(out[2], 0.0f);
}

TEST(RmsNorm, EpsilonIsAddedToTheMeanNotToTheRoot)
{
    const float x[] = {1, 1};
    const float weight[] = {1, 1};
    float out[2];
    rmsNorm(out, x, weight, 3.0f);
    EXPECT_FLOAT_EQ(out[0], 0.5f);
}

TEST(RmsNorm, ZerosStayZeros)
{
    const float x[] = {0, 0};
    const float weight[] = {5, 5};
    float out[2] = {7, 7};
    rmsNorm(out, x, weight, 1e-5f);
    EXPECT_EQ(out[0], 0.0f);
    EXPECT_EQ(out[1], 0.0f);
}

TEST(Rope, PositionZeroChangesNothing)
{
    auto head = randomValues(8, 1);
    const auto before = head;
    rope(head, RopePairing::Adjacent, ropeFrequencies({.dims = 8}), 0);
    EXPECT_EQ(head, before);
}

TEST(Rope, AdjacentRotatesNeighboursAndHalfSplitRotatesAcrossTheMiddle)
{
    const std::vector<double> frequencies{1.0, 0.5};
    const float c = std::cos(2.0f);
    const float s = std::sin(2.0f);
    float adjacent[] = {1, 0, 0, 0};
    rope(adjacent, RopePairing::Adjacent, frequencies, 2);
    EXPECT_FLOAT_EQ(adjacent[0], c);
    EXPECT_FLOAT_EQ(adjacent[1], s);
    EXPECT_EQ(adjacent[2], 0.0f);

    float split[] = {1, 0, 0, 1};
    rope(split, RopePairing::HalfSplit, frequencies, 2);
    EXPECT_FLOAT_EQ(split[0], c);
    EXPECT_FLOAT_EQ(split[2], s);
    EXPECT_FLOAT_EQ(split[1], -std::sin(1.0f));
    EXPECT_FLOAT_EQ(split[3], std::cos(1.0f));
}

TEST(Rope, ElementsBeyondTheRotatedOnesStay)
{
    float head[] = {1, 2, 3, 4, 5, 6};
    rope(head, RopePairing::HalfSplit, ropeFrequencies({.dims = 4}), 9);
    EXPECT_NE(head[0], 1.0f);
    EXPECT_EQ(head[4], 5.0f);
    EXPECT_EQ(head[5], 6.0f);
}

TEST(Rope, FrequenciesFallFromOneByTheBaseAndHonourScaleAndDivisors)
{
    const auto plain = ropeFrequencies({.dims = 4, .base = 10000.0f});
    ASSERT_EQ(plain.size(), 2u);
    EXPECT_DOUBLE_EQ(plain[0], 1.0);
    EXPECT_DOUBLE_EQ(plain[1], 0.01);
    const auto scaled = ropeFrequencies({.dims = 4, .base = 10000.0f, .scale = 0.25f, .divisors = {1.0f, 8.0f}});
    EXPECT_DOUBLE_EQ(scaled[0], 0.25);
    EXPECT_DOUBLE_EQ(scaled[1], 0.01 / 32.0);
}

TEST(Rope, ScoresDependOnTheDistanceOnly)
{
    const auto frequencies = ropeFrequencies({.dims = 16});
    const auto score = [&](std::int64_t queryAt, std::int64_t keyAt) {
        auto q = randomValues(16, 2);
        auto k = randomValues(16, 3);
        rope(q, RopePairing::HalfSplit, frequencies, queryAt);
        rope(k, RopePairing::HalfSplit, frequencies, keyAt);
        return std::inner_product(q.begin(), q.end(), k.begin(), 0.0);
    };
    // Each of 16 products of values up to 1 is off by at most 4 roundings of f32.
    EXPECT_NEAR(score(7, 3), score(1007, 1003), 16 * 4 * kUlp);
    EXPECT_GT(std::abs(score(7, 3) - score(7, 5)), 1e-3);
}

TEST(Matvec, SumsInDoubleSoThatSmallTermsBesideLargeOnesCount)
{
    const float weights[] = {1e8f, 1.0f, -1e8f};
    const float x[] = {1, 1, 1};
    float out[1];
    matvec(out, weights, x);
    EXPECT_EQ(out[0], 1.0f);
}

TEST(Matmul, GivesTheBitsOfMatvecForEveryRaggedShape)
{
    for (const int rows : {1, 3, 4, 7, 9, 16, 21})
        for (const int cols : {1, 2, 31, 64})
            for (const int tokens : {1, 2, 3, 4, 5, 8, 11}) {
                const auto weights = randomValues(static_cast<std::size_t>(rows * cols), 1);
                const auto x = randomValues(static_cast<std::size_t>(tokens * cols), 2);
                std::vector<double> scratch(matmulScratch(tokens, cols));
                std::vector<float> out(static_cast<std::size_t>(tokens * rows), 99.0f);
                matmul(out.data(), weights.data(), rows, cols, x.data(), tokens, scratch);
                for (int t = 0; t < tokens; ++t) {
                    std::vector<float> alone(static_cast<std::size_t>(rows));
                    matvec(alone, weights.data(), {x.data() + t * cols, static_cast<std::size_t>(cols)});
                    ASSERT_EQ(std::memcmp(alone.data(), out.data() + t * rows, alone.size() * sizeof(float)), 0)
                        << rows << " × " << cols << ", token " << t << " of " << tokens;
                    for (int r = 0; r < rows; ++r) {
                        double sum = 0.0;
                        for (int k = 0; k < cols; ++k)
                            sum += double{weights[static_cast<std::size_t>(r * cols + k)]} *
                                   x[static_cast<std::size_t>(t * cols + k)];
                        ASSERT_EQ(alone[static_cast<std::size_t>(r)], static_cast<float>(sum));
                    }
                }
            }
}

TEST(Softmax, SumsToOneAndStandsHugeScores)
{
    double scores[] = {1e5, 1e5 - 1.0, -1e5};
    softmax(scores);
    EXPECT_DOUBLE_EQ(scores[0], 1.0 / (1.0 + std::exp(-1.0)));
    EXPECT_EQ(scores[2], 0.0);
    EXPECT_DOUBLE_EQ(scores[0] + scores[1] + scores[2], 1.0);
}

TEST(Attention, IsTheSoftmaxWeightedMeanOfTheValues)
{
    const AttentionShape shape{.headDimK = 2, .headDimV = 3, .scale = 0.5f};
    const float query[] = {2, 0};
    const float keys[] = {0, 9, 1, 9, 2, 9};  // scores 0, 1, 2
    const float values[] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    double probabilities[3];
    float out[3];
    attention(out, shape, query, keys, values, probabilities);
    const double sum = 1 + std::exp(1.0) + std::exp(2.0);
    EXPECT_FLOAT_EQ(out[0], static_cast<float>(1 / sum));
    EXPECT_FLOAT_EQ(out[1], static_cast<float>(std::exp(1.0) / sum));
    EXPECT_FLOAT_EQ(out[2], static_cast<float>(std::exp(2.0) / sum));
}

TEST(Attention, SoftcapBoundsTheScoresBeforeTheSoftmax)
{
    const AttentionShape shape{.headDimK = 1, .headDimV = 1, .scale = 1.0f, .softcap = 2.0f};
    const float query[] = {1};
    const float keys[] = {0, 3};
    const float values[] = {0, 1};
    double probabilities[2];
    float out[1];
    attention(out, shape, query, keys, values, probabilities);
    const double score = 2.0 * std::tanh(1.5);
    EXPECT_FLOAT_EQ(out[0], static_cast<float>(1.0 / (1.0 + std::exp(-score))));
}

TEST(Attention, HeadsWiderThanTheSumsHeldAtOnceAreComplete)
{
    const AttentionShape shape{.headDimK = 1, .headDimV = 130, .scale = 1.0f};
    const float query[] = {0};
    const float keys[] = {1, 1};
    std::vector<float> values(260);
    std::iota(values.begin(), values.end(), 0.0f);
    double probabilities[2];
    std::vector<float> out(130, -1.0f);
    attention(out, shape, query, keys, values.data(), probabilities);
    for (std::size_t d = 0; d < out.size(); ++d)
        ASSERT_FLOAT_EQ(out[d], static_cast<float>(d) + 65.0f);
}

TEST(Attention, AWindowCountsTheQuerysOwnToken)
{
    EXPECT_EQ(firstVisible(10, 0), 0);
    EXPECT_EQ(firstVisible(10, 4), 7);
    EXPECT_EQ(firstVisible(2, 4), 0);
    EXPECT_EQ(firstVisible(10, 1), 10);
}

TEST(Activations, SiluAndGeluHaveTheirKnownValues)
{
    EXPECT_FLOAT_EQ(silu(1.0f), 0.7310586f);
    EXPECT_FLOAT_EQ(silu(-2.0f), -0.23840584f);
    EXPECT_EQ(silu(0.0f), 0.0f);
    EXPECT_FLOAT_EQ(geluTanh(1.0f), 0.841192f);
    EXPECT_FLOAT_EQ(geluTanh(-0.5f), -0.15428599f);
    EXPECT_EQ(geluTanh(-1000.0f), 0.0f);
    EXPECT_EQ(silu(-1000.0f), 0.0f);
}

TEST(Softcap, ZeroMeansNone)
{
    float x[] = {100.0f, -7.0f};
    softcap(x, 0.0f);
    EXPECT_EQ(x[0], 100.0f);
    softcap(x, 30.0f);
    EXPECT_FLOAT_EQ(x[0], static_cast<float>(30.0 * std::tanh(100.0 / 30.0)));
    EXPECT_FLOAT_EQ(x[1], static_cast<float>(30.0 * std::tanh(-7.0 / 30.0)));
}

}  // namespace
}  // namespace tokenscope::kernels
