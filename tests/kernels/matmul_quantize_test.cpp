#include "kernels/cpu/isa_tables.h"
#include "kernels/cpu/matmul_layout.h"
#include "tests/kernels/matmul_fixture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

namespace tokenscope::kernels {
namespace {

class CpuQuantize : public ::testing::TestWithParam<Isa> {
protected:
    void SetUp() override
    {
        const auto& isas = availableIsas();
        if (std::find(isas.begin(), isas.end(), GetParam()) == isas.end())
            GTEST_SKIP() << "this processor has no " << isaName(GetParam());
    }

    layout::ActivationBlock quantizeOne(const std::vector<float>& x) const
    {
        const QuantizedRows rows(matmulKernels(GetParam()), x.data(), 1, 32, 32);
        return *reinterpret_cast<const layout::ActivationBlock*>(rows.activations.data);
    }
};

INSTANTIATE_TEST_SUITE_P(, CpuQuantize, ::testing::ValuesIn(compiledIsas()),
                         [](const auto& isa) { return std::string(isaName(isa.param)); });

TEST_P(CpuQuantize, ErrsByAtMostHalfAStep)
{
    std::mt19937 random(11);
    for (int round = 0; round < 200; ++round) {
        const std::vector<float> x = randomActivations(1, 32, random);
        const layout::ActivationBlock block = quantizeOne(x);
        const float largest =
            *std::max_element(x.begin(), x.end(), [](float a, float b) { return std::abs(a) < std::abs(b); });
        EXPECT_EQ(block.scale, std::abs(largest) / 127.0f);
        int sum = 0;
        int halfSum = 0;
        for (std::size_t k = 0; k < 32; ++k) {
            // Half a step, and three roundings of numbers up to 127.
            const double tolerance = 0.5 + 3 * 127 * 0.5 * std::numeric_limits<float>::epsilon();
            EXPECT_LE(std::abs(x[k] / double{block.scale} - block.q[k]), tolerance);
            sum += block.q[k];
            halfSum += k < 16 ? block.q[k] : 0;
        }
        EXPECT_EQ(block.negSum, -sum);
        EXPECT_EQ(block.negHalfSum, -halfSum);
        EXPECT_EQ(block.scaledSum, block.scale * static_cast<float>(sum));
    }
}

TEST_P(CpuQuantize, RoundsTiesToEven)
{
    std::vector<float> x(32, 0.0f);
    x[0] = 127.0f;  // scale 1
    x[1] = 0.5f;
    x[2] = 1.5f;
    x[3] = -2.5f;
    x[4] = -3.5f;
    const layout::ActivationBlock block = quantizeOne(x);
    const int expected[] = {127, 0, 2, -2, -4};
    for (int k = 0; k < 5; ++k)
        EXPECT_EQ(block.q[k], expected[k]) << k;
}

TEST_P(CpuQuantize, ABlockOfZerosHasScaleZero)
{
    for (float value : {0.0f, -0.0f, 1e-40f}) {
        const layout::ActivationBlock block = quantizeOne(std::vector<float>(32, value));
        EXPECT_EQ(block.scale, 0.0f);
        EXPECT_EQ(block.scaledSum, 0.0f);
        EXPECT_TRUE(std::all_of(block.q, block.q + 32, [](int q) { return q == 0; }));
    }
}

TEST_P(CpuQuantize, ANumberThatIsNotFiniteMakesTheProductNaN)
{
    std::mt19937 random(12);
    for (DType type : {DType::Q4_0, DType::Q4_1, DType::Q8_0, DType::Q6_K, DType::F16}) {
        const Packed packed(type, 16, 256, random);
        for (float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
            std::vector<float> x = randomActivations(2, 256, random);
            x[77] = bad;
            const MatmulKernels& kernels = matmulKernels(GetParam());
            const QuantizedRows rows(kernels, x.data(), 2, 256, 256);
            std::vector<float> out(32);
            kernels.matmul(packed.matrix, 0, 1, rows.activations, out.data(), 16, false);
            EXPECT_FALSE(std::isfinite(out[0])) << dtypeInfo(type).name;
            EXPECT_TRUE(std::isfinite(out[16])) << dtypeInfo(type).name << ": the other row is unharmed";
        }
    }
}

TEST_P(CpuQuantize, GivesTheBitsOfTheScalarVersion)
{
    std::mt19937 random(13);
    for (int rows : {1, 5, 16, 23}) {
        const int stride = 101;  // rows apart by more than their length, and unaligned
        std::vector<float> x = randomActivations(rows, stride, random);
        for (std::size_t i = 0; i < x.size(); i += 7)
            x[i] = std::round(x[i] * 4) / 8;  // ties
        const QuantizedRows own(matmulKernels(GetParam()), x.data(), rows, 96, stride);
        const QuantizedRows scalar(matmulKernels(Isa::Scalar), x.data(), rows, 96, stride);
        const std::size_t used = static_cast<std::size_t>(rows) * 3 * sizeof(layout::ActivationBlock);
        EXPECT_EQ(std::memcmp(own.bytes.get(), scalar.bytes.get(), used), 0) << rows;
    }
}

}  // namespace
}  // namespace tokenscope::kernels
