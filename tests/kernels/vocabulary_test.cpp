// The reductions over chunks of logits in every instruction set: against their formulas, and bit for bit against the
// scalar ones.
#include "kernels/cpu/isa_tables.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace tokenscope::kernels {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// The last one ends in −infinity, as a row's last chunk does.
std::vector<std::vector<float>> chunksOf(float spread, int count)
{
    std::mt19937 random(11);
    std::normal_distribution<float> normal(0.0f, spread);
    std::vector<std::vector<float>> chunks(static_cast<std::size_t>(count), std::vector<float>(kLogitChunk));
    for (auto& chunk : chunks)
        std::generate(chunk.begin(), chunk.end(), [&] { return normal(random); });
    std::fill(chunks.back().begin() + 333, chunks.back().end(), -kInf);
    return chunks;
}

class VocabularyTest : public testing::TestWithParam<Isa> {
protected:
    void SetUp() override
    {
        const auto& isas = availableIsas();
        if (std::find(isas.begin(), isas.end(), GetParam()) == isas.end())
            GTEST_SKIP() << "this processor has no " << isaName(GetParam());
        kernels = &vocabularyKernels(GetParam());
    }
    const VocabularyKernels* kernels = nullptr;
    const VocabularyKernels& scalar = vocabularyKernels(Isa::Scalar);
};

TEST_P(VocabularyTest, TheLargestIsThatOfAPlainScan)
{
    for (const auto& chunk : chunksOf(4.0f, 3))
        EXPECT_EQ(kernels->largest(chunk.data()), *std::max_element(chunk.begin(), chunk.end()));
    const std::vector<float> never(kLogitChunk, -kInf);
    EXPECT_EQ(kernels->largest(never.data()), -kInf);
}

TEST_P(VocabularyTest, NoNumberAnywhereInAChunkIsNoticed)
{
    for (const float bad : {kNan, -kNan, kInf})
        for (int at = 0; at < kLogitChunk; ++at) {
            std::vector<float> chunk = chunksOf(4.0f, 1).front();
            chunk[static_cast<std::size_t>(at)] = bad;
            EXPECT_TRUE(std::isnan(kernels->largest(chunk.data()))) << bad << " at " << at;
        }
}

TEST_P(VocabularyTest, SelectsWhatLiesBetweenTheBounds)
{
    const auto chunks = chunksOf(2.0f, 2);
    for (const auto& chunk : chunks)
        for (const auto& [low, high] : {std::pair{-kInf, kInf},
                                        {0.5f, kInf},
                                        {-0.25f, 0.25f},
                                        {chunk[7], chunk[7]},
                                        {9.0f, -9.0f},
                                        {5.0f, 6.0f}}) {
            std::vector<std::int32_t> expected;
            for (int i = 0; i < kLogitChunk; ++i)
                if (chunk[static_cast<std::size_t>(i)] >= low && chunk[static_cast<std::size_t>(i)] <= high)
                    expected.push_back(5000 + i);
            std::vector<std::int32_t> ids(kLogitChunk + kSelectSlack);
            ids.resize(static_cast<std::size_t>(kernels->select(chunk.data(), low, high, 5000, ids.data())));
            EXPECT_EQ(ids, expected) << low << " to " << high;
        }
}

// A sum of n positive floats in k partial sums is off by at most n / k roundings, each weight by 2e-7.
TEST_P(VocabularyTest, ExponentialSumsAreThoseOfDoublePrecision)
{
    for (const float spread : {0.1f, 4.0f, 30.0f})
        for (const float inverse : {0.2f, 1.0f, 100.0f}) {
            const auto chunks = chunksOf(spread, 7);
            float largest = -kInf;
            for (const auto& chunk : chunks)
                largest = std::max(largest, *std::max_element(chunk.begin(), chunk.end()));
            std::vector<const float*> starts;
            for (const auto& chunk : chunks)
                starts.push_back(chunk.data());
            std::vector<double> sums(chunks.size());
            kernels->expSums(starts.data(), 7, largest, inverse, sums.data());
            for (std::size_t c = 0; c < chunks.size(); ++c) {
                std::vector<float> weights(kLogitChunk);
                const double sum = kernels->expWeights(chunks[c].data(), largest, inverse, weights.data());
                double expected = 0.0, expectedAbove = 0.0;
                for (std::size_t i = 0; i < chunks[c].size(); ++i) {
                    const float x = (chunks[c][i] - largest) * inverse;
                    const double weight = x > -87.0f ? std::exp(static_cast<double>(x)) : 0.0;
                    EXPECT_NEAR(static_cast<double>(weights[i]), weight, 2.5e-7 * weight);
                    expected += weight;
                    if (chunks[c][i] >= 0.25f)
                        expectedAbove += weight;
                }
                const double roundings = 6e-8 * kLogitChunk / 4 + 2.5e-7;
                EXPECT_NEAR(sums[c], expected, roundings * expected);
                EXPECT_NEAR(sum, expected, roundings * expected);
                EXPECT_NEAR(kernels->sumAtLeast(chunks[c].data(), weights.data(), 0.25f), expectedAbove,
                            roundings * expectedAbove);
            }
        }
}

TEST_P(VocabularyTest, EveryInstructionSetGivesTheSameBits)
{
    const auto chunks = chunksOf(3.0f, 7);
    std::vector<const float*> starts;
    for (const auto& chunk : chunks)
        starts.push_back(chunk.data());
    for (int count = 0; count <= 7; ++count) {
        std::vector<double> sums(7, -1.0), expected(7, -1.0);
        kernels->expSums(starts.data(), count, 11.0f, 1.25f, sums.data());
        scalar.expSums(starts.data(), count, 11.0f, 1.25f, expected.data());
        EXPECT_EQ(sums, expected) << count;
    }
    for (const auto& chunk : chunks) {
        std::vector<float> weights(kLogitChunk), expected(kLogitChunk);
        EXPECT_EQ(kernels->expWeights(chunk.data(), 11.0f, 0.7f, weights.data()),
                  scalar.expWeights(chunk.data(), 11.0f, 0.7f, expected.data()));
        EXPECT_EQ(weights, expected);
        for (const float low : {-kInf, -1.0f, 0.0f, 3.0f, 50.0f})
            EXPECT_EQ(kernels->sumAtLeast(chunk.data(), weights.data(), low),
                      scalar.sumAtLeast(chunk.data(), weights.data(), low));
    }
}

INSTANTIATE_TEST_SUITE_P(Isas, VocabularyTest, testing::ValuesIn(compiledIsas()),
                         [](const auto& test) { return std::string(isaName(test.param)); });

}  // namespace
}  // namespace tokenscope::kernels
