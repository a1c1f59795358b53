#include "kernels/dtype.h"

#include <gtest/gtest.h>

namespace tokenscope::kernels {
namespace {

TEST(DType, AnIdThisProgramDoesNotKnowIsAbsent)
{
    EXPECT_FALSE(dtypeInfo(std::uint32_t{4}).has_value());
    EXPECT_FALSE(dtypeInfo(std::uint32_t{0xffffffff}).has_value());
}

TEST(DType, ARowOfBlocksHasTheBytesOfItsBlocks)
{
    EXPECT_EQ(rowBytes(DType::Q4_1, 576), 18u * 20u);
    EXPECT_EQ(rowBytes(DType::Q6_K, 2048), 8u * 210u);
    EXPECT_EQ(rowBytes(DType::F32, 3), 12u);
}

}  // namespace
}  // namespace tokenscope::kernels
