#include "kernels/reference/half.h"

#include <bit>

namespace tokenscope::kernels {
namespace {

// value · 2^−shift, rounded to nearest, ties to even. 1 ≤ shift ≤ 31.
std::uint32_t shiftRounded(std::uint32_t value, int shift)
{
    const std::uint32_t kept = value >> shift;
    const std::uint32_t rest = value & ((1u << shift) - 1u);
    const std::uint32_t half = 1u << (shift - 1);
    const bool up = rest > half || (rest == half && (kept & 1u) != 0);
    return kept + (up ? 1u : 0u);
}

}  // namespace

float f16ToF32(std::uint16_t half)
{
    const std::uint32_t sign = std::uint32_t{half} >> 15 << 31;
    const std::uint32_t exponent = half >> 10 & 0x1fu;
    const std::uint32_t mantissa = half & 0x3ffu;
    if (exponent == 0) {
        const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;  // exact
        return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
    }
    const std::uint32_t wide = exponent == 31 ? 0xffu : exponent + (127 - 15);
    return std::bit_cast<float>(sign | wide << 23 | mantissa << 13);
}

std::uint16_t f32ToF16(float value)
{
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = bits >> 16 & 0x8000u;
    const int exponent = static_cast<int>(bits >> 23 & 0xffu);
    const std::uint32_t mantissa = bits & 0x7fffffu;

    std::uint32_t magnitude = 0;
    if (exponent == 0xff)
        magnitude = mantissa == 0 ? 0x7c00u : 0x7e00u | mantissa >> 13;
    else if (exponent >= 127 + 16)
        magnitude = 0x7c00u;
    else if (exponent >= 127 - 14)
        // A carry out of the mantissa moves on into the exponent, up to infinity, as it should.
        magnitude = shiftRounded(static_cast<std::uint32_t>(exponent - (127 - 15)) << 23 | mantissa, 13);
    else if (exponent >= 127 - 25)
        magnitude = shiftRounded(mantissa | 0x800000u, 13 + (127 - 14) - exponent);
    return static_cast<std::uint16_t>(sign | magnitude);
}

float bf16ToF32(std::uint16_t bits)
{
    return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

std::uint16_t f32ToBf16(float value)
{
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const bool isNan = (bits & 0x7fffffffu) > 0x7f800000u;
    return static_cast<std::uint16_t>(isNan ? bits >> 16 | 0x40u : shiftRounded(bits, 16));
}

}  // namespace tokenscope::kernels
