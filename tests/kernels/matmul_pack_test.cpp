#include "kernels/cpu/matmul.h"
#include "tests/kernels/matmul_fixture.h"

#include <gtest/gtest.h>

#include <limits>

namespace tokenscope::kernels {
namespace {

constexpr std::uint16_t kInfiniteHalf = 0x7c00;
constexpr std::uint16_t kNanHalf = 0xfe01;

KernelResult<void> packAll(const std::vector<std::byte>& source, DType type, int rows, int cols)
{
    const AlignedBytes packed = alignedBytes(packedBytes(type, rows, cols));
    return packGroups({source.data(), type, rows, cols}, 0, (rows + kGroupRows - 1) / kGroupRows, packed.get());
}

TEST(CpuMatmulPack, AScaleThatIsNotFiniteIsRefusedWithItsRow)
{
    constexpr int kRows = 20;
    constexpr int kCols = 512;
    constexpr int kBadRow = 18;
    std::mt19937 random(3);
    for (DType type : kAllDTypes) {
        if (needsFloatActivations(type))
            continue;
        const FormatBounds bounds = formatBounds(type);
        for (int at : {bounds.scaleAt, bounds.minAt}) {
            for (std::uint16_t bits : {kInfiniteHalf, kNanHalf}) {
                if (at < 0)
                    continue;
                std::vector<std::byte> source = randomWeights(type, kRows, kCols, random);
                ASSERT_TRUE(packAll(source, type, kRows, kCols));
                // The last block of the row, so that a check of first blocks only is not enough.
                const std::size_t end = (kBadRow + 1) * rowBytes(type, kCols);
                const auto block = end - static_cast<std::size_t>(dtypeInfo(type).blockBytes);
                std::memcpy(&source[block + static_cast<std::size_t>(at)], &bits, 2);
                const KernelResult<void> result = packAll(source, type, kRows, kCols);
                ASSERT_FALSE(result) << dtypeInfo(type).name;
                EXPECT_EQ(result.error().code, KernelErrorCode::BadWeights);
                for (const std::string& part : {std::string("row 18"), std::string(dtypeInfo(type).name),
                                                std::string(at == bounds.scaleAt ? "scale" : "minimum"),
                                                std::string(bits == kNanHalf ? "not a number" : "infinite")})
                    EXPECT_NE(result.error().message.find(part), std::string::npos) << result.error().message;
            }
        }
    }
}

TEST(CpuMatmulPack, AFloatWeightThatIsNotFiniteIsRefusedWithItsPlace)
{
    std::mt19937 random(4);
    for (DType type : {DType::F32, DType::F16, DType::BF16}) {
        std::vector<std::byte> source = randomWeights(type, 3, 40, random);
        const float infinity = std::numeric_limits<float>::infinity();
        const std::uint16_t bits = type == DType::F16 ? f32ToF16(infinity) : f32ToBf16(infinity);
        const std::size_t bytes = type == DType::F32 ? 4 : 2;
        std::memcpy(&source[(2 * 40 + 39) * bytes], bytes == 4 ? static_cast<const void*>(&infinity) : &bits, bytes);
        const KernelResult<void> result = packAll(source, type, 3, 40);
        ASSERT_FALSE(result);
        EXPECT_NE(result.error().message.find("row 2, column 39"), std::string::npos) << result.error().message;
    }
}

TEST(CpuMatmulPack, GroupsMayBePackedInAnyOrder)
{
    std::mt19937 random(5);
    for (DType type : kAllDTypes) {
        const std::vector<std::byte> source = randomWeights(type, 40, 256, random);
        const TensorView view{source.data(), type, 40, 256};
        const std::size_t bytes = packedBytes(type, 40, 256);
        const AlignedBytes inOrder = alignedBytes(bytes);
        const AlignedBytes reversed = alignedBytes(bytes);
        ASSERT_TRUE(packGroups(view, 0, 3, inOrder.get()));
        for (int group = 2; group >= 0; --group)
            ASSERT_TRUE(packGroups(view, group, group + 1, reversed.get()));
        EXPECT_EQ(std::memcmp(inOrder.get(), reversed.get(), bytes), 0) << dtypeInfo(type).name;
    }
}

TEST(CpuMatmulPack, TakesTheFilesBytesAndAtMostAnEighthOfABitPerWeightMore)
{
    constexpr int kRows = 1536;
    constexpr int kCols = 1536;
    for (DType type : kAllDTypes) {
        const double fileBits = 8.0 * static_cast<double>(rowBytes(type, kCols)) / kCols;
        const double packedBits = 8.0 * static_cast<double>(packedBytes(type, kRows, kCols)) / (double{kRows} * kCols);
        EXPECT_GE(packedBits, fileBits) << dtypeInfo(type).name;
        const bool sixBitScales = type == DType::Q3_K || type == DType::Q4_K || type == DType::Q5_K;
        EXPECT_LE(packedBits, fileBits + (sixBitScales ? 0.125 : 0.0)) << dtypeInfo(type).name;
        EXPECT_EQ(packedBytes(type, kRows, kCols) % 64, 0u);
    }
}

}  // namespace
}  // namespace tokenscope::kernels
