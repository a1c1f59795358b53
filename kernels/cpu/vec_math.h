// Shared by the bodies: partial vectors and the exponential. Included after one of the vec_*.h, whose Vec it uses.
#pragma once

#include <cstring>

namespace tokenscope::kernels {
namespace {

using Reg = Vec::Reg;

inline Reg loadPart(const float* p, int count)
{
    float buffer[Vec::kLanes] = {};
    std::memcpy(buffer, p, static_cast<unsigned>(count) * sizeof(float));
    return Vec::load(buffer);
}

inline Reg loadHalfPart(const std::uint16_t* p, int count)
{
    std::uint16_t buffer[Vec::kLanes] = {};
    std::memcpy(buffer, p, static_cast<unsigned>(count) * sizeof(std::uint16_t));
    return Vec::loadHalf(buffer);
}

inline void storePart(float* p, Reg v, int count)
{
    float buffer[Vec::kLanes];
    Vec::store(buffer, v);
    std::memcpy(p, buffer, static_cast<unsigned>(count) * sizeof(float));
}

// 2^x for −126 ≤ x ≤ 126 (clamped), relative error at most 2e-7: x = n + f with |f| ≤ ½; the polynomial of 2^f is
// off by 1.6e-8 (least maximum, first coefficient fixed to 1, so that 2^0 is exactly 1), the rest is rounding.
inline Reg exp2(Reg x)
{
    x = Vec::atMost(126.0f, Vec::atLeast(-126.0f, x));
    const Reg n = Vec::nearest(x);
    const Reg f = Vec::sub(x, n);
    Reg y = Vec::all(0.0001535335904918611f);
    y = Vec::fma(y, f, Vec::all(0.0013398875016719103f));
    y = Vec::fma(y, f, Vec::all(0.00961843691766262f));
    y = Vec::fma(y, f, Vec::all(0.055503323674201965f));
    y = Vec::fma(y, f, Vec::all(0.24022647738456726f));
    y = Vec::fma(y, f, Vec::all(0.6931471824645996f));
    y = Vec::fma(y, f, Vec::all(1.0f));
    return Vec::mul(y, Vec::powerOfTwo(n));
}

inline float exp2(float x)
{
    float lanes[Vec::kLanes];
    Vec::store(lanes, exp2(Vec::all(x)));
    return lanes[0];
}

inline constexpr float kLog2e = 1.44269504088896341f;

// x / (1 + e^(−z))
inline Reg timesSigmoid(Reg x, Reg z)
{
    const Reg e = exp2(Vec::mul(z, Vec::all(-kLog2e)));
    return Vec::div(x, Vec::add(Vec::all(1.0f), e));
}

// cap · tanh(x / cap) = cap · (2 / (1 + e^(−2x / cap)) − 1). Absolute error about 2e-7 · cap.
inline Reg cappedAt(float cap, Reg x)
{
    const Reg sigmoid = timesSigmoid(Vec::all(2.0f), Vec::mul(x, Vec::all(2.0f / cap)));
    return Vec::mul(Vec::all(cap), Vec::sub(sigmoid, Vec::all(1.0f)));
}

}  // namespace
}  // namespace tokenscope::kernels
