// 16-bit floats in plain integer arithmetic: the meaning the fast versions (F16C, AVX-512) are compared with.
//   F16:  1 sign, 5 exponent (bias 15), 10 mantissa bits; exponent 0 = subnormal (m · 2^−24), 31 = infinity or NaN.
//   BF16: the upper half of an f32.
// To 16 bits: round to nearest, ties to even; NaN stays NaN (made quiet), too large becomes infinity.
#pragma once

#include <cstdint>

namespace tokenscope::kernels {

float f16ToF32(std::uint16_t half);  // exact
std::uint16_t f32ToF16(float value);

float bf16ToF32(std::uint16_t bits);  // exact
std::uint16_t f32ToBf16(float value);

}  // namespace tokenscope::kernels
