// Attention over the paged cache, in every instruction set, against softmax(scale · q·K) · V in f64.
#include "kernels/cpu/isa_tables.h"
#include "kernels/cpu/kv_cache.h"
#include "kernels/cpu/step_kernels.h"
#include "kernels/reference/half.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <tuple>
#include <vector>

namespace tokenscope::kernels {
namespace {

struct Shape {
    int headDimK;
    int headDimV;
};

class CpuAttention : public testing::TestWithParam<std::tuple<Isa, CacheType>> {
protected:
    void SetUp() override
    {
        const auto& isas = availableIsas();
        if (std::find(isas.begin(), isas.end(), std::get<0>(GetParam())) == isas.end())
            GTEST_SKIP() << "this processor has no " << isaName(std::get<0>(GetParam()));
    }
};

// A cache of two layers and two heads whose every byte is a NaN, with `tokens` keys and values of layer 1, head 1 in
// scattered blocks.
struct Scene {
    Scene(Isa isa, CacheType type, Shape headShape, int tokens, float spread)
        : kernels(stepKernels(isa)), shape(headShape)
    {
        const int blocks = (tokens + kBlockTokens - 1) / kBlockTokens;
        cache = KvCache::allocate({2, 2, shape.headDimK, shape.headDimV}, {blocks + 3, type}).value();
        std::memset(cache.tile(0, 0), 0xff, cache.bytes());
        for (int block = 0; block < blocks; ++block)
            table.push_back(blocks + 2 - block);  // backwards
        std::uniform_real_distribution<float> distribution(-spread, spread);
        const auto vector = [&](int count) {
            std::vector<float> v;
            for (int i = 0; i < count; ++i)
                v.push_back(distribution(random));
            return v;
        };
        for (int t = 0; t < tokens; ++t) {
            keys.push_back(vector(shape.headDimK));
            values.push_back(vector(shape.headDimV));
            const int block = table[static_cast<std::size_t>(t / kBlockTokens)];
            cache.writeKey(kernels, 1, 1, block, t % kBlockTokens, keys.back().data());
            cache.writeValue(kernels, 1, 1, block, t % kBlockTokens, values.back().data());
            if (type == CacheType::F16) {
                const auto round = [&](std::vector<float>& v) {
                    std::vector<std::uint16_t> halves(v.size());
                    kernels.toHalf(v.data(), halves.data(), static_cast<int>(v.size()));
                    std::transform(halves.begin(), halves.end(), v.begin(), f16ToF32);
                };
                round(keys.back());
                round(values.back());
            }
        }
        for (int r = 0; r < kTileRows; ++r) {
            queries.push_back(vector(shape.headDimK));
            outputs.emplace_back(static_cast<std::size_t>(shape.headDimV), std::nanf(""));
        }
        scratch.assign(attentionScratchFloats(shape.headDimK, shape.headDimV), std::nanf(""));
    }

    AttentionTile tile(const std::vector<std::pair<int, int>>& visible, float softcap)
    {
        AttentionTile tile;
        tile.rows = static_cast<int>(visible.size());
        for (std::size_t r = 0; r < visible.size(); ++r) {
            tile.query[r] = queries[r].data();
            tile.out[r] = outputs[r].data();
            tile.firstKey[r] = visible[r].first;
            tile.lastKey[r] = visible[r].second;
        }
        tile.keys = cache.tile(1, 1);
        tile.blockStride = cache.blockStride();
        tile.valueOffset = cache.valueOffset();
        tile.blockTable = table.data();
        tile.type = cache.type();
        tile.headDimK = shape.headDimK;
        tile.headDimV = shape.headDimV;
        tile.scale = 1.0f / std::sqrt(static_cast<float>(shape.headDimK));
        tile.softcap = softcap;
        tile.scratch = scratch.data();
        return tile;
    }

    std::vector<double> formula(int row, int first, int last, float softcap) const
    {
        const std::vector<float>& q = queries[static_cast<std::size_t>(row)];
        std::vector<double> scores;
        for (int t = first; t <= last; ++t) {
            double score = 0.0;
            for (std::size_t d = 0; d < q.size(); ++d)
                score += double{q[d]} * keys[static_cast<std::size_t>(t)][d];
            score /= std::sqrt(static_cast<double>(q.size()));
            scores.push_back(softcap > 0.0f ? softcap * std::tanh(score / softcap) : score);
        }
        const double largest = *std::max_element(scores.begin(), scores.end());
        double sum = 0.0;
        std::vector<double> out(static_cast<std::size_t>(shape.headDimV), 0.0);
        for (std::size_t i = 0; i < scores.size(); ++i) {
            const double weight = std::exp(scores[i] - largest);
            sum += weight;
            for (std::size_t d = 0; d < out.size(); ++d)
                out[d] += weight * values[static_cast<std::size_t>(first) + i][d];
        }
        for (double& v : out)
            v /= sum;
        return out;
    }

    const StepKernels& kernels;
    Shape shape;
    std::mt19937 random{7};
    KvCache cache;
    std::vector<std::int32_t> table;
    std::vector<std::vector<float>> keys, values, queries, outputs;
    std::vector<float> scratch;
};

TEST_P(CpuAttention, FollowsTheFormulaAndNeverReadsUnusedSlots)
{
    const auto [isa, type] = GetParam();
    for (const Shape shape : {Shape{64, 64}, Shape{128, 128}, Shape{256, 256}, Shape{8, 24}, Shape{40, 72}})
        for (const float softcap : {0.0f, 3.0f})
            for (const int tokens : {1, 2, 31, 32, 33, 255, 257, 530}) {
                Scene scene(isa, type, shape, tokens, 2.0f);
                // From one row to a full tile, with causal limits that end in different blocks and windows that begin
                // in different ones.
                const int rows = 1 + (tokens * 5 + shape.headDimV) % kTileRows;
                std::vector<std::pair<int, int>> visible;
                for (int r = 0; r < rows; ++r) {
                    const int last = std::max(0, tokens - 1 - (rows - 1 - r) / 3);
                    visible.emplace_back(r % 2 == 0 ? 0 : std::max(0, last - 40), last);
                }
                scene.kernels.attend(scene.tile(visible, softcap));
                for (int r = 0; r < rows; ++r) {
                    const auto [first, last] = visible[static_cast<std::size_t>(r)];
                    const auto want = scene.formula(r, first, last, softcap);
                    // Weights are off by the rounding of scores (|q·K| up to 4 · √dim: 1e-6), values are at most 2.
                    for (std::size_t d = 0; d < want.size(); ++d)
                        ASSERT_NEAR(scene.outputs[static_cast<std::size_t>(r)][d], want[d], 2e-5)
                            << tokens << " tokens, row " << r << " of " << rows << ", dims " << shape.headDimV;
                }
            }
}

TEST_P(CpuAttention, ARowsBitsDoNotDependOnTheRowsOfItsTile)
{
    const auto [isa, type] = GetParam();
    Scene scene(isa, type, {40, 72}, 700, 2.0f);
    std::vector<std::pair<int, int>> visible;
    for (int r = 0; r < kTileRows; ++r)
        visible.emplace_back(r % 3 == 0 ? 600 - 40 * r : 0, 699 - 60 * (kTileRows - 1 - r) / 2);
    for (auto& [first, last] : visible)
        first = std::min(first, last);
    scene.kernels.attend(scene.tile(visible, 0.0f));
    const auto together = scene.outputs;
    for (int r = 0; r < kTileRows; ++r) {
        AttentionTile one = scene.tile({visible[static_cast<std::size_t>(r)]}, 0.0f);
        one.query[0] = scene.queries[static_cast<std::size_t>(r)].data();
        scene.kernels.attend(one);
        EXPECT_EQ(scene.outputs[0], together[static_cast<std::size_t>(r)]) << r;
    }
}

TEST_P(CpuAttention, PiecesMergedApartGiveTheSameBits)
{
    const auto [isa, type] = GetParam();
    Scene scene(isa, type, {64, 64}, 800, 2.0f);
    const AttentionTile tile = scene.tile({{0, 799}, {300, 797}, {520, 798}}, 0.0f);
    scene.kernels.attend(tile);
    const auto whole = scene.outputs;
    const std::size_t slot = static_cast<std::size_t>(partialFloats(64));
    std::vector<float> partials(4 * 3 * slot), room(slot), out(64);
    for (int piece = 3; piece >= 0; --piece)  // in any order of computing
        scene.kernels.attendPiece(tile, piece, partials.data() + static_cast<std::size_t>(piece) * 3 * slot);
    for (std::size_t row = 0; row < 3; ++row) {
        scene.kernels.mergePartials(partials.data() + row * slot, static_cast<std::ptrdiff_t>(3 * slot), 4, 64,
                                    room.data(), out.data());
        EXPECT_EQ(out, whole[row]);
    }
}

TEST_P(CpuAttention, ANotANumberInAVisibleKeyReachesTheResult)
{
    const auto [isa, type] = GetParam();
    Scene scene(isa, type, {64, 64}, 40, 1.0f);
    std::vector<float> broken(64, std::nanf(""));
    scene.cache.writeKey(scene.kernels, 1, 1, scene.table[0], 5, broken.data());
    scene.kernels.attend(scene.tile({{0, 39}}, 0.0f));
    EXPECT_TRUE(std::isnan(scene.outputs[0][0]));
}

INSTANTIATE_TEST_SUITE_P(Isas, CpuAttention,
                         testing::Combine(testing::ValuesIn(compiledIsas()),
                                          testing::Values(CacheType::F16, CacheType::F32)),
                         [](const auto& test) {
                             return std::string(isaName(std::get<0>(test.param))) +
                                    (std::get<1>(test.param) == CacheType::F16 ? "_f16" : "_f32");
                         });

}  // namespace
}  // namespace tokenscope::kernels
