#include "kernels/dtype.h"
#include "kernels/reference/dequantize.h"
#include "kernels/reference/half.h"
#include "tests/support/test_data.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tokenscope::kernels {
namespace {

std::vector<std::byte> bytesOf(const std::string& hex)
{
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
        bytes.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    return bytes;
}

class Blocks : public ::testing::TestWithParam<DType> {};

TEST_P(Blocks, MeanWhatThePublishedValuesSayBitForBit)
{
    const DTypeInfo& info = dtypeInfo(GetParam());
    const auto all = nlohmann::json::parse(test::readFile(test::dataPath("blocks.json")));
    const auto& format = all.at(std::string(info.name));
    EXPECT_EQ(format.at("type_id").get<std::uint32_t>(), static_cast<std::uint32_t>(info.type));
    EXPECT_EQ(format.at("block_elements").get<int>(), info.blockElements);
    EXPECT_EQ(format.at("block_bytes").get<int>(), info.blockBytes);
    ASSERT_EQ(format.at("blocks").size(), 3u);

    for (const auto& block : format.at("blocks")) {
        const auto bytes = bytesOf(block.at("hex"));
        const auto expected = block.at("values").get<std::vector<double>>();
        const auto elements = static_cast<std::int64_t>(expected.size());
        ASSERT_EQ(bytes.size(), rowBytes(info.type, elements));
        std::vector<float> values(expected.size());
        dequantizeRow(info.type, bytes.data(), values.data(), elements);
        for (std::size_t i = 0; i < values.size(); ++i)
            ASSERT_EQ(std::bit_cast<std::uint32_t>(values[i]),
                      std::bit_cast<std::uint32_t>(static_cast<float>(expected[i])))
                << info.name << " element " << i << ": " << values[i] << " for " << expected[i];
    }
}

INSTANTIATE_TEST_SUITE_P(AllFormats, Blocks,
                         ::testing::Values(DType::F16, DType::BF16, DType::Q4_0, DType::Q4_1, DType::Q5_0, DType::Q5_1,
                                           DType::Q8_0, DType::Q2_K, DType::Q3_K, DType::Q4_K, DType::Q5_K,
                                           DType::Q6_K),
                         [](const auto& param) { return std::string(dtypeInfo(param.param).name); });

TEST(Dequantize, AnUnalignedRowOfF32IsCopiedBitForBit)
{
    const float values[] = {1.5f, -0.0f, 0x1p-149f};
    std::vector<std::byte> bytes(1 + sizeof values);
    std::memcpy(bytes.data() + 1, values, sizeof values);
    float out[3] = {};
    dequantizeRow(DType::F32, bytes.data() + 1, out, 3);
    EXPECT_EQ(std::memcmp(out, values, sizeof values), 0);
}

TEST(Dequantize, BlocksOfARowFollowEachOther)
{
    std::vector<std::byte> row(2 * 34);
    row[1] = std::byte{0x3c};   // d = 1
    row[35] = std::byte{0x40};  // d = 2
    row[2] = std::byte{7};
    row[36] = std::byte{0xff};  // −1
    std::vector<float> out(64, 99.0f);
    dequantizeRow(DType::Q8_0, row.data(), out.data(), 64);
    EXPECT_EQ(out[0], 7.0f);
    EXPECT_EQ(out[1], 0.0f);
    EXPECT_EQ(out[32], -2.0f);
}

TEST(Half, EveryF16SurvivesTheWayToF32AndBack)
{
    for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
        const auto half = static_cast<std::uint16_t>(bits);
        const float wide = f16ToF32(half);
        if (std::isnan(wide))
            EXPECT_TRUE(std::isnan(f16ToF32(f32ToF16(wide))));
        else
            ASSERT_EQ(f32ToF16(wide), half);
    }
}

TEST(Half, EveryBf16SurvivesTheWayToF32AndBack)
{
    for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
        const auto half = static_cast<std::uint16_t>(bits);
        const float wide = bf16ToF32(half);
        if (std::isnan(wide))
            EXPECT_TRUE(std::isnan(bf16ToF32(f32ToBf16(wide))));
        else
            ASSERT_EQ(f32ToBf16(wide), half);
    }
}

// Between two neighbours of F16, everything goes to the nearer one and the middle to the even one.
TEST(Half, ToF16RoundsToNearestAndTiesToEven)
{
    for (std::uint16_t half = 0; half < 0x7bff; ++half) {
        const float below = f16ToF32(half);
        const float above = f16ToF32(static_cast<std::uint16_t>(half + 1));
        const float middle = (below + above) / 2;  // exact: f32 has 13 bits more
        const auto even = static_cast<std::uint16_t>(half + (half & 1));
        ASSERT_EQ(f32ToF16(middle), even);
        ASSERT_EQ(f32ToF16(std::nextafter(middle, 0.0f)), half);
        ASSERT_EQ(f32ToF16(std::nextafter(middle, above)), half + 1);
        ASSERT_EQ(f32ToF16(-middle), even | 0x8000);
    }
}

TEST(Half, ToF16OverflowsToInfinityFromHalfAStepAboveTheLargest)
{
    EXPECT_EQ(f32ToF16(65504.0f), 0x7bff);
    EXPECT_EQ(f32ToF16(65519.996f), 0x7bff);
    EXPECT_EQ(f32ToF16(65520.0f), 0x7c00);
    EXPECT_EQ(f32ToF16(std::numeric_limits<float>::max()), 0x7c00);
    EXPECT_EQ(f32ToF16(-std::numeric_limits<float>::infinity()), 0xfc00);
    EXPECT_EQ(f32ToF16(0x1p-25f), 0x0000);
    EXPECT_EQ(f32ToF16(0x1.000002p-25f), 0x0001);
    EXPECT_EQ(f32ToF16(-0x1p-149f), 0x8000);
}

TEST(Half, ToBf16RoundsToNearestAndTiesToEven)
{
    EXPECT_EQ(f32ToBf16(1.00390625f), 0x3f80);  // 1 + 2⁻⁸: tie, down to even
    EXPECT_EQ(f32ToBf16(1.01171875f), 0x3f82);  // 1 + 3·2⁻⁸: tie, up to even
    EXPECT_EQ(f32ToBf16(0x1.010002p0f), 0x3f81);
    EXPECT_EQ(f32ToBf16(std::numeric_limits<float>::max()), 0x7f80);
}

TEST(Half, NotANumberStaysNotANumber)
{
    EXPECT_TRUE(std::isnan(f16ToF32(f32ToF16(std::bit_cast<float>(0x7f800001u)))));
    EXPECT_TRUE(std::isnan(bf16ToF32(f32ToBf16(std::bit_cast<float>(0xff800001u)))));
}

}  // namespace
}  // namespace tokenscope::kernels
