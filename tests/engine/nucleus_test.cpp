// selectNucleus against the plain definition: sort everything, keep the first that reach p.
#include "engine/sample/logits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <random>
#include <vector>

namespace tokenscope {
namespace {

std::vector<TokenId> sortedNucleus(const std::vector<float>& logits, double p)
{
    std::vector<TokenId> ids(logits.size());
    for (std::size_t i = 0; i < ids.size(); ++i)
        ids[i] = static_cast<TokenId>(i);
    const auto logit = [&](TokenId id) { return logits[static_cast<std::size_t>(id)]; };
    std::stable_sort(ids.begin(), ids.end(), [&](TokenId a, TokenId b) { return logit(a) > logit(b); });
    const double largest = logit(ids.front());
    double total = 0.0;
    for (const TokenId id : ids)
        total += std::exp(logit(id) - largest);
    double sum = 0.0;
    std::size_t kept = 0;
    while (kept < ids.size() && (kept == 0 || sum < p * total))
        sum += std::exp(logit(ids[kept++]) - largest);
    ids.resize(kept);
    std::sort(ids.begin(), ids.end());
    return ids;
}

// Flat rows keep most of the vocabulary, peaked ones little; sizes leave every remainder of four lanes and of sixteen.
// Rounding may move the border by a token in a hundred thousand.
TEST(Nucleus, IsThatOfTheSortedVocabulary)
{
    std::mt19937 random(7);
    for (const float spread : {0.1f, 1.0f, 4.0f, 12.0f})
        for (const std::size_t size : {1u, 3u, 16u, 30u, 1000u, 20001u})
            for (const double p : {0.0, 0.1, 0.5, 0.95, 0.999}) {
                std::normal_distribution<float> normal(0.0f, spread);
                std::vector<float> logits(size);
                std::generate(logits.begin(), logits.end(), [&] { return normal(random); });
                if (size > 16)
                    logits[5] = -std::numeric_limits<float>::infinity();
                const auto largest = largestLogit(logits);
                ASSERT_TRUE(largest);
                EXPECT_EQ(*largest, *std::max_element(logits.begin(), logits.end()));
                std::vector<TopLogit> chosen;
                selectNucleus(logits, *largest, p, chosen);
                std::vector<TokenId> ids;
                for (const TopLogit& candidate : chosen)
                    ids.push_back(candidate.id);
                const auto expected = sortedNucleus(logits, p);
                EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
                std::vector<TokenId> different;
                std::set_symmetric_difference(ids.begin(), ids.end(), expected.begin(), expected.end(),
                                              std::back_inserter(different));
                EXPECT_LE(different.size(), size / 10'000)
                    << "spread " << spread << ", " << size << " logits, p " << p << ": " << ids.size()
                    << " kept, expected " << expected.size();
            }
}

TEST(Nucleus, ExponentialSumsAreThoseOfDoublePrecision)
{
    std::mt19937 random(8);
    std::normal_distribution<float> normal(0.0f, 4.0f);
    for (const std::size_t size : {1u, 7u, 1024u, 30001u}) {
        std::vector<float> logits(size);
        std::generate(logits.begin(), logits.end(), [&] { return normal(random); });
        const float largest = *std::max_element(logits.begin(), logits.end());
        for (const float inverse : {0.5f, 1.0f, 1.25f, 100.0f}) {
            double expected = 0.0;
            for (const float v : logits)
                expected += std::exp(static_cast<double>((v - largest) * inverse));
            std::vector<double> pieces;
            EXPECT_NEAR(expSums(logits, largest, inverse, &pieces) / expected, 1.0, 1e-6) << size << " at " << inverse;
            EXPECT_EQ(pieces.size(), (size + kSumPiece - 1) / kSumPiece);
        }
    }
}

}  // namespace
}  // namespace tokenscope
