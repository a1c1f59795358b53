#include "kernels/cpu/isa_tables.h"
#include "kernels/cpu/matmul.h"

#include "kernels/cpu/matmul_layout.h"
#include "kernels/reference/dequantize.h"
#include "tests/kernels/matmul_fixture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <string>

namespace tokenscope::kernels {
namespace {

bool isAvailable(Isa isa)
{
    return std::find(availableIsas().begin(), availableIsas().end(), isa) != availableIsas().end();
}

class CpuMatmul : public ::testing::TestWithParam<Isa> {
protected:
    void SetUp() override
    {
        if (!isAvailable(GetParam()))
            GTEST_SKIP() << "this processor has no " << isaName(GetParam());
    }
    const MatmulKernels& kernels() const { return matmulKernels(GetParam()); }

    std::mt19937 m_random{7};
};

INSTANTIATE_TEST_SUITE_P(, CpuMatmul, ::testing::ValuesIn(compiledIsas()),
                         [](const auto& isa) { return std::string(isaName(isa.param)); });

struct Shape {
    int rows;  // of the weights
    int cols;
    int tokens;
};

// Ragged in every direction: rows that are no multiple of 16, one block and several, tiles of x that are not full.
std::vector<Shape> shapesFor(DType type)
{
    const int unit = std::max(dtypeInfo(type).blockElements, 32);
    std::vector<Shape> shapes{{1, unit, 1}, {16, 3 * unit, 2}, {37, 2 * unit, 9}, {24, 5 * unit, 16}, {50, unit, 33}};
    for (int tokens = 3; tokens <= 8; ++tokens)
        shapes.push_back({17, unit, tokens});
    if (needsFloatActivations(type))
        shapes.push_back({19, 45, 7});
    return shapes;
}

// x as the kernels see it: with 8-bit weights, scale · q.
std::vector<float> seenActivations(const QuantizedRows& rows, const std::vector<float>& x, DType type)
{
    if (needsFloatActivations(type))
        return x;
    const int tokens = rows.activations.rows;
    const int cols = rows.activations.cols;
    std::vector<float> seen(x.size());
    const auto* blocks = reinterpret_cast<const layout::ActivationBlock*>(rows.activations.data);
    for (int token = 0; token < tokens; ++token) {
        const int first = token / layout::kTileRows * layout::kTileRows;
        const int tileRows = std::min(layout::kTileRows, tokens - first);
        for (int k = 0; k < cols; ++k) {
            const auto& block = blocks[first * (cols / 32) + k / 32 * tileRows + token - first];
            seen[static_cast<std::size_t>(token * cols + k)] = block.scale * static_cast<float>(block.q[k % 32]);
        }
    }
    return seen;
}

std::vector<float> multiply(const MatmulKernels& kernels, const PackedMatrix& matrix, const QuantizedRows& x)
{
    std::vector<float> out(static_cast<std::size_t>(matrix.rows) * static_cast<std::size_t>(x.activations.rows), NAN);
    kernels.matmul(matrix, 0, matrix.groupCount(), x.activations, out.data(), matrix.rows, false);
    return out;
}

bool sameBits(const std::vector<float>& a, const std::vector<float>& b)
{
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

TEST_P(CpuMatmul, IsTheProductOfDequantisedWeightsAndActivations)
{
    for (DType type : kAllDTypes) {
        for (const Shape& shape : shapesFor(type)) {
            SCOPED_TRACE(std::string(dtypeInfo(type).name) + " " + std::to_string(shape.rows) + "×" +
                         std::to_string(shape.cols) + "×" + std::to_string(shape.tokens));
            const Packed packed(type, shape.rows, shape.cols, m_random);
            ASSERT_NE(packed.matrix.data, nullptr);
            const auto cols = static_cast<std::size_t>(shape.cols);
            const std::vector<float> x = randomActivations(shape.tokens, shape.cols, m_random);
            const QuantizedRows quantized(kernels(), x.data(), shape.tokens, shape.cols, shape.cols);
            const std::vector<float> seen = seenActivations(quantized, x, type);
            const std::vector<float> out = multiply(kernels(), packed.matrix, quantized);

            // Every addition to a running sum rounds by at most epsilon/2 of the sum of magnitudes so far. Quantised:
            // up to 4 additions a block, plus the roundings inside a term. Float: one addition a column.
            // The magnitude of a term is bounded by the largest scaled code and minimum the format allows.
            constexpr double kHalfEpsilon = 0.5 * std::numeric_limits<float>::epsilon();
            const FormatBounds bounds = formatBounds(type);
            const double largestWeight =
                needsFloatActivations(type) ? kLargestScale : kLargestScale * (bounds.product + bounds.minFactor);
            const double additions = needsFloatActivations(type) ? shape.cols + 1.0 : 4.0 * shape.cols / 32 + 3;

            std::vector<float> weights(cols);
            for (int row = 0; row < shape.rows; ++row) {
                dequantizeRow(type, packed.source.data() + static_cast<std::size_t>(row) * rowBytes(type, shape.cols),
                              weights.data(), shape.cols);
                for (int token = 0; token < shape.tokens; ++token) {
                    double expected = 0.0;
                    double magnitude = 0.0;
                    for (std::size_t k = 0; k < cols; ++k) {
                        const double value = seen[static_cast<std::size_t>(token) * cols + k];
                        expected += weights[k] * value;
                        magnitude += std::abs(value) * largestWeight;
                    }
                    const float actual = out[static_cast<std::size_t>(token * shape.rows + row)];
                    ASSERT_NEAR(actual, expected, additions * kHalfEpsilon * magnitude) << row << ", " << token;
                }
            }
        }
    }
}

TEST_P(CpuMatmul, EqualsTheScalarKernelsBitForBit)
{
    const MatmulKernels& scalar = matmulKernels(Isa::Scalar);
    for (DType type : kAllDTypes) {
        for (const Shape& shape : shapesFor(type)) {
            const Packed packed(type, shape.rows, shape.cols, m_random);
            const std::vector<float> x = randomActivations(shape.tokens, shape.cols, m_random);
            const QuantizedRows own(kernels(), x.data(), shape.tokens, shape.cols, shape.cols);
            const QuantizedRows plain(scalar, x.data(), shape.tokens, shape.cols, shape.cols);
            EXPECT_TRUE(sameBits(multiply(kernels(), packed.matrix, own), multiply(scalar, packed.matrix, plain)))
                << dtypeInfo(type).name << " " << shape.rows << "×" << shape.cols << "×" << shape.tokens;
        }
    }
}

// One number for the bits of every format's products, the same on x86-64 and aarch64. It changes when the order of
// float operations does, which then is another one everywhere.
TEST_P(CpuMatmul, GivesTheBitsOfEveryOtherProcessor)
{
    constexpr int kRows = 20;
    constexpr int kTokens = 7;
    std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a over words
    for (DType type : kAllDTypes) {
        const int cols = 2 * std::max(dtypeInfo(type).blockElements, 32);
        const Packed packed(type, kRows, cols, m_random);
        std::vector<float> x(static_cast<std::size_t>(kTokens * cols));
        for (float& value : x)
            value = static_cast<float>(static_cast<int>(m_random() % 4001) - 2000) / 300.0f;
        const QuantizedRows quantized(kernels(), x.data(), kTokens, cols, cols);
        for (float value : multiply(kernels(), packed.matrix, quantized))
            hash = (hash ^ std::bit_cast<std::uint32_t>(value)) * 0x100000001b3u;
    }
    EXPECT_EQ(hash, 654202295624073897u);
}

TEST_P(CpuMatmul, ARowsResultDoesNotDependOnTheRowsBesideIt)
{
    constexpr int kMaxTokens = 40;
    constexpr int kRows = 35;
    for (DType type : kAllDTypes) {
        const int cols = std::max(dtypeInfo(type).blockElements, 96);
        const Packed packed(type, kRows, cols, m_random);
        const std::vector<float> x = randomActivations(kMaxTokens, cols, m_random);
        std::vector<std::vector<float>> alone;
        for (int token = 0; token < kMaxTokens; ++token)
            alone.push_back(
                multiply(kernels(), packed.matrix, QuantizedRows(kernels(), x.data() + token * cols, 1, cols, cols)));
        for (int tokens = 2; tokens <= kMaxTokens; ++tokens) {
            const std::vector<float> together =
                multiply(kernels(), packed.matrix, QuantizedRows(kernels(), x.data(), tokens, cols, cols));
            for (int token = 0; token < tokens; ++token)
                ASSERT_EQ(std::memcmp(&together[static_cast<std::size_t>(token * kRows)],
                                      alone[static_cast<std::size_t>(token)].data(), sizeof(float) * kRows),
                          0)
                    << dtypeInfo(type).name << ", row " << token << " of " << tokens;
        }
    }
}

TEST_P(CpuMatmul, SharedByThreadsGivesTheSameBitsAndTouchesOnlyItsOwnRows)
{
    constexpr int kRows = 70;  // five groups, the last with six rows
    constexpr int kTokens = 19;
    constexpr int kStride = 80;
    constexpr float kUntouched = 12345.0f;
    for (DType type : kAllDTypes) {
        const int cols = std::max(dtypeInfo(type).blockElements, 64);
        const Packed packed(type, kRows, cols, m_random);
        const std::vector<float> x = randomActivations(kTokens, cols, m_random);
        QuantizedRows whole(kernels(), x.data(), kTokens, cols, cols);

        QuantizedRows shared(kernels(), x.data(), kTokens, cols, cols);
        std::memset(shared.bytes.get(), 0xff, shared.activations.capacityBytes);
        kernels().quantize(x.data(), cols, 16, kTokens, true, shared.activations);
        kernels().quantize(x.data(), cols, 0, 16, true, shared.activations);

        std::vector<float> expected(kTokens * kStride, kUntouched);
        std::vector<float> actual(kTokens * kStride, kUntouched);
        kernels().matmul(packed.matrix, 0, 5, whole.activations, expected.data(), kStride, false);
        for (int group : {3, 0, 4, 1, 2})
            kernels().matmul(packed.matrix, group, group + 1, shared.activations, actual.data(), kStride, false);
        EXPECT_TRUE(sameBits(expected, actual)) << dtypeInfo(type).name;
        for (int token = 0; token < kTokens; ++token)
            for (int padding = kRows; padding < kStride; ++padding)
                ASSERT_EQ(actual[static_cast<std::size_t>(token * kStride + padding)], kUntouched);
    }
}

TEST_P(CpuMatmul, AccumulatingAddsTheProductToWhatIsThere)
{
    constexpr int kRows = 27;
    constexpr int kTokens = 11;
    for (DType type : kAllDTypes) {
        const int cols = std::max(dtypeInfo(type).blockElements, 64);
        const Packed packed(type, kRows, cols, m_random);
        const std::vector<float> x = randomActivations(kTokens, cols, m_random);
        const QuantizedRows quantized(kernels(), x.data(), kTokens, cols, cols);
        const std::vector<float> product = multiply(kernels(), packed.matrix, quantized);
        std::vector<float> sums = randomActivations(kTokens, kRows, m_random);
        std::vector<float> expected = sums;
        for (std::size_t i = 0; i < sums.size(); ++i)
            expected[i] += product[i];
        kernels().matmul(packed.matrix, 0, packed.matrix.groupCount(), quantized.activations, sums.data(), kRows, true);
        EXPECT_EQ(sums, expected) << dtypeInfo(type).name;
    }
}

TEST_P(CpuMatmul, AnUnpackedRowHasTheBitsOfTheReference)
{
    for (DType type : kAllDTypes) {
        constexpr int kRows = 21;
        constexpr int kCols = 768;
        const Packed packed(type, kRows, kCols, m_random);
        std::vector<float> expected(kCols);
        std::vector<float> actual(kCols);
        for (int row = 0; row < kRows; ++row) {
            dequantizeRow(type, packed.source.data() + static_cast<std::size_t>(row) * rowBytes(type, kCols),
                          expected.data(), kCols);
            kernels().unpackRow(packed.matrix, row, actual.data());
            ASSERT_TRUE(sameBits(expected, actual)) << dtypeInfo(type).name << ", row " << row;
        }
    }
}

TEST_P(CpuMatmul, TheLargestCodesAndActivationsDoNotOverflow)
{
    // All weight bytes 0xff, then 0x00: the extremes of every code; all activations at ±max: q = ±127.
    constexpr int kTokens = 2;
    for (DType type : kAllDTypes) {
        if (needsFloatActivations(type))
            continue;
        const int cols = std::max(dtypeInfo(type).blockElements, 64);
        for (int fill : {0xff, 0x00, 0x80}) {
            std::vector<std::byte> source(16 * rowBytes(type, cols), static_cast<std::byte>(fill));
            const FormatBounds bounds = formatBounds(type);
            const std::uint16_t one = f32ToF16(1.0f);
            for (std::size_t block = 0; block < source.size();
                 block += static_cast<std::size_t>(dtypeInfo(type).blockBytes))
                for (int at : {bounds.scaleAt, bounds.minAt})
                    if (at >= 0)
                        std::memcpy(&source[block + static_cast<std::size_t>(at)], &one, 2);
            const AlignedBytes bytes = alignedBytes(packedBytes(type, 16, cols));
            const TensorView view{source.data(), type, 16, cols};
            ASSERT_TRUE(packGroups(view, 0, 1, bytes.get()));
            std::vector<float> x(static_cast<std::size_t>(kTokens * cols), 127.0f);
            std::fill(x.begin() + cols, x.end(), -127.0f);
            const QuantizedRows quantized(kernels(), x.data(), kTokens, cols, cols);
            const std::vector<float> out = multiply(kernels(), packedView(view, bytes.get()), quantized);
            std::vector<float> weights(static_cast<std::size_t>(cols));
            dequantizeRow(type, source.data(), weights.data(), cols);
            double expected = 0.0;  // small integers: exact in f32 as well
            for (float weight : weights)
                expected += 127.0 * weight;
            EXPECT_EQ(out.front(), expected) << dtypeInfo(type).name << " " << fill;
            EXPECT_EQ(out.back(), -expected) << dtypeInfo(type).name << " " << fill;
        }
    }
}

}  // namespace
}  // namespace tokenscope::kernels
