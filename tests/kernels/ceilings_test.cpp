#include "kernels/cpu/ceilings.h"
#include "kernels/cpu/isa_tables.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tokenscope::kernels {
namespace {

using ::testing::HasSubstr;

bool has(Isa isa)
{
    const auto& isas = availableIsas();
    return std::find(isas.begin(), isas.end(), isa) != isas.end();
}

TEST(Ceilings, AreMeasuredForEveryInstructionSetOfThisProcessor)
{
    for (const Isa isa : availableIsas()) {
        const auto ceilings = measureCeilings({.isa = isa, .threads = 1});
        ASSERT_TRUE(ceilings.has_value()) << ceilings.error().message;
        // No claim about this machine, but a core of today cannot do more than two vectors of 64 bytes a cycle at
        // 6 GHz: beyond that the compiler has dropped the work.
        constexpr double kMostBytes = 2 * 64 * 6e9;
        EXPECT_GT(ceilings->readBytesPerSecond, 1e7) << isaName(isa);
        EXPECT_LT(ceilings->readBytesPerSecond, kMostBytes) << isaName(isa);
        EXPECT_GT(ceilings->int8MacsPerSecond, 1e7) << isaName(isa);
        EXPECT_LT(ceilings->int8MacsPerSecond, kMostBytes) << isaName(isa);
        EXPECT_GT(ceilings->f32MacsPerSecond, 1e7) << isaName(isa);
        EXPECT_LT(ceilings->f32MacsPerSecond, kMostBytes / 4) << isaName(isa);
    }
}

TEST(Ceilings, AnInstructionSetThisProcessorLacksIsRefusedByName)
{
    for (const Isa isa : kAllIsas) {
        if (has(isa))
            continue;
        const auto result = measureCeilings({.isa = isa, .threads = 1});
        ASSERT_FALSE(result.has_value());
        EXPECT_EQ(result.error().code, KernelErrorCode::Unsupported);
        EXPECT_THAT(result.error().message, HasSubstr(isaName(isa)));
    }
}

TEST(Ceilings, AThreadCountThatCannotBeIsRefusedWithTheLimit)
{
    for (const int threads : {0, -1, 4 * physicalCores() + 1}) {
        const auto result = measureCeilings({.isa = Isa::Scalar, .threads = threads});
        ASSERT_FALSE(result.has_value());
        EXPECT_EQ(result.error().code, KernelErrorCode::Unsupported);
        EXPECT_THAT(result.error().message, HasSubstr(std::to_string(4 * physicalCores())));
    }
}

// A read that leaves bytes out would make the ceiling too high: one bit anywhere must reach the result.
TEST(CeilingKernels, ReadEveryByte)
{
    alignas(64) static std::byte data[1024];
    for (const Isa isa : availableIsas()) {
        const CeilingKernels& kernels = isaTables(isa).ceilings;
        for (std::size_t at = 0; at < sizeof data; ++at) {
            std::memset(data, 0, sizeof data);
            ASSERT_EQ(kernels.read(data, sizeof data), 0u) << isaName(isa);
            data[at] = std::byte{0x10};
            ASSERT_NE(kernels.read(data, sizeof data), 0u) << isaName(isa) << " byte " << at;
        }
    }
}

}  // namespace
}  // namespace tokenscope::kernels
