// The operations of a step in every instruction set against their formulas in f64.
#include "kernels/cpu/isa_tables.h"
#include "kernels/cpu/step_kernels.h"

#include "kernels/cpu/rope.h"
#include "kernels/reference/half.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace tokenscope::kernels {
namespace {

class StepKernelsTest : public testing::TestWithParam<Isa> {
protected:
    void SetUp() override
    {
        const auto& isas = availableIsas();
        if (std::find(isas.begin(), isas.end(), GetParam()) == isas.end())
            GTEST_SKIP() << "this processor has no " << isaName(GetParam());
        kernels = &stepKernels(GetParam());
    }
    std::vector<float> random(int count, float spread)
    {
        std::uniform_real_distribution<float> distribution(-spread, spread);
        std::vector<float> values;
        for (int i = 0; i < count; ++i)
            values.push_back(distribution(m_random));
        return values;
    }

    const StepKernels* kernels = nullptr;

private:
    std::mt19937 m_random{42};
};

constexpr int kLengths[] = {1, 2, 7, 8, 15, 16, 17, 31, 64, 100, 576, 641};
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

TEST_P(StepKernelsTest, RmsNormFollowsItsFormula)
{
    for (const int n : kLengths) {
        const auto x = random(n, 3.0f), weight = random(n, 2.0f);
        double squares = 0.0;
        for (const float v : x)
            squares += double{v} * v;
        const double scale = 1.0 / std::sqrt(squares / n + double{1e-5f});
        std::vector<float> out(x.size());
        kernels->rmsNorm(x.data(), weight.data(), 1e-5f, n, out.data());
        for (std::size_t i = 0; i < x.size(); ++i)
            EXPECT_NEAR(out[i], x[i] * scale * weight[i], 2e-6) << n;
        std::vector<float> inPlace = x;
        kernels->rmsNorm(inPlace.data(), weight.data(), 1e-5f, n, inPlace.data());
        EXPECT_EQ(inPlace, out);
    }
}

TEST_P(StepKernelsTest, GatesFollowTheirFormulas)
{
    for (const int n : kLengths) {
        auto gate = random(n, 12.0f);
        const auto up = random(n, 2.0f);
        gate[0] = -200.0f;  // e^200 does not fit into f32
        for (const Activation kind : {Activation::Silu, Activation::GeluTanh}) {
            auto out = gate;
            kernels->gate(kind, out.data(), up.data(), n);
            for (std::size_t i = 0; i < out.size(); ++i) {
                const double g = gate[i];
                const double inner = std::sqrt(2.0 / M_PI) * (g + 0.044715 * g * g * g);
                const double want =
                    kind == Activation::Silu ? g / (1.0 + std::exp(-g)) : 0.5 * g * (1.0 + std::tanh(inner));
                // Six roundings of the result; near zero the formula itself cancels.
                EXPECT_NEAR(out[i], want * up[i], 1e-6 * std::abs(want * up[i]) + 2e-6) << g;
            }
        }
    }
}

TEST_P(StepKernelsTest, SoftcapFollowsItsFormula)
{
    auto x = random(100, 300.0f);
    x.push_back(0.0f);
    auto out = x;
    kernels->softcap(out.data(), 30.0f, static_cast<int>(x.size()));
    for (std::size_t i = 0; i < x.size(); ++i)
        EXPECT_NEAR(out[i], 30.0 * std::tanh(double{x[i]} / 30.0), 30.0 * 4e-7);
}

TEST_P(StepKernelsTest, RotationFollowsItsFormulaInBothPairings)
{
    for (const RopePairing pairing : {RopePairing::Adjacent, RopePairing::HalfSplit})
        for (const int dims : {2, 6, 16, 24, 64, 256}) {
            RopeSpec spec;
            spec.pairing = pairing;
            spec.dims = dims;
            spec.scale = 0.5f;
            spec.divisors.assign(static_cast<std::size_t>(dims / 2), 1.0f);
            spec.divisors.back() = 4.0f;
            const RopeTable table(spec);
            const int position = 3001;
            std::vector<float> cos(static_cast<std::size_t>(dims)), sin(cos.size());
            table.fill(position, 0, dims / 2, cos.data(), sin.data());
            const auto x = random(dims + 3, 2.0f);  // elements beyond dims stay
            auto out = x;
            kernels->rotate(out.data(), cos.data(), sin.data(), dims, pairing);
            for (int i = 0; i < dims / 2; ++i) {
                const auto a = static_cast<std::size_t>(pairing == RopePairing::Adjacent ? 2 * i : i);
                const auto b = static_cast<std::size_t>(pairing == RopePairing::Adjacent ? 2 * i + 1 : i + dims / 2);
                const double angle =
                    position * 0.5 * std::pow(10000.0, -2.0 * i / dims) / (i == dims / 2 - 1 ? 4.0 : 1.0);
                EXPECT_NEAR(out[a], x[a] * std::cos(angle) - x[b] * std::sin(angle), 1e-6) << dims;
                EXPECT_NEAR(out[b], x[b] * std::cos(angle) + x[a] * std::sin(angle), 1e-6) << dims;
            }
            EXPECT_TRUE(std::equal(out.begin() + dims, out.end(), x.begin() + dims));
        }
}

TEST_P(StepKernelsTest, HalvesRoundToNearestEven)
{
    std::vector<float> x = {0.0f,     -0.0f,    1.0f,     -2.5f,      65504.0f,   65519.0f, 65520.0f, 1e9f, -1e9f,
                            0x1p-14f, 0x1p-24f, 0x1p-25f, 0x1.8p-25f, 0x1.8p-24f, 1e-12f,   kInf,     -kInf};
    for (const float v : random(200, 10.0f))
        x.push_back(v);
    for (int i = 0; i < 200; ++i)
        x.push_back(std::ldexp(1.0f + static_cast<float>(i) * 0x1p-11f, -14 - i % 12));  // ties and subnormals
    std::vector<std::uint16_t> out(x.size());
    kernels->toHalf(x.data(), out.data(), static_cast<int>(x.size()));
    for (std::size_t i = 0; i < x.size(); ++i) {
        const auto value = static_cast<double>(f16ToF32(out[i]));
        if (std::abs(x[i]) >= 65520.0f) {
            EXPECT_EQ(value, std::copysign(HUGE_VAL, x[i]));
            continue;
        }
        // Multiples of the last place of a half with 11 bits, 2^−24 at least.
        const double place = std::ldexp(1.0, std::max(x[i] == 0.0f ? -24 : std::ilogb(x[i]) - 10, -24));
        EXPECT_EQ(value, std::nearbyint(x[i] / place) * place) << x[i];
        EXPECT_EQ(std::signbit(f16ToF32(out[i])), std::signbit(x[i]));
    }
}

TEST_P(StepKernelsTest, TheLargestIsThatOfAPlainScan)
{
    for (const int n : {1, 3, 16, 63, 64, 65, 200, 1024})
        for (int at = 0; at < n; ++at) {
            auto x = random(n, 1.0f);
            x[static_cast<std::size_t>(at)] = -0.001f;
            EXPECT_EQ(kernels->largest(x.data(), n), *std::max_element(x.begin(), x.end()));
            x[static_cast<std::size_t>(at)] = 1.5f;
            EXPECT_EQ(kernels->largest(x.data(), n), 1.5f);
        }
}

TEST_P(StepKernelsTest, NotANumberIsNoticedAndKept)
{
    for (const int n : {1, 16, 37}) {
        auto x = random(n, 1.0f);
        EXPECT_TRUE(kernels->allFinite(x.data(), n));
        for (const float bad : {kNan, kInf, -kInf})
            for (int at = 0; at < n; ++at) {
                auto broken = x;
                broken[static_cast<std::size_t>(at)] = bad;
                EXPECT_FALSE(kernels->allFinite(broken.data(), n));
            }
        auto gate = x;
        gate[0] = kNan;
        kernels->gate(Activation::Silu, gate.data(), x.data(), n);
        EXPECT_TRUE(std::isnan(gate[0]));
    }
}

INSTANTIATE_TEST_SUITE_P(Isas, StepKernelsTest, testing::ValuesIn(compiledIsas()),
                         [](const auto& test) { return std::string(isaName(test.param)); });

}  // namespace
}  // namespace tokenscope::kernels
