// A vector of floats for the code shared by all instruction sets (row_ops_body.h, attention_body.h): four lanes in the
// compiler's own vector type, so that every processor has it (SSE2, NEON, or plain code). Included by *_scalar.cpp
// only.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

namespace tokenscope::kernels {
namespace {

struct Vec {
    typedef float Reg __attribute__((vector_size(16)));
    static constexpr int kLanes = 4;
    static constexpr int kScoreRows = 6, kScoreColumns = 2;  // accumulators of the attention kernels: rows × vectors
    static constexpr int kValueRows = 6, kValueColumns = 2;

    static Reg zero() { return Reg{0, 0, 0, 0}; }
    static Reg all(float x) { return Reg{x, x, x, x}; }
    static Reg load(const float* p)
    {
        Reg v;
        std::memcpy(&v, p, sizeof v);
        return v;
    }
    static void store(float* p, Reg v) { std::memcpy(p, &v, sizeof v); }
    static Reg add(Reg a, Reg b) { return a + b; }
    static Reg sub(Reg a, Reg b) { return a - b; }
    static Reg mul(Reg a, Reg b) { return a * b; }
    static Reg div(Reg a, Reg b) { return a / b; }
    static Reg fma(Reg a, Reg b, Reg c) { return a * b + c; }
    // NaN in `v` stays: a broken model must be noticed in the logits.
    static Reg atLeast(float low, Reg v)
    {
        for (int i = 0; i < kLanes; ++i)
            v[i] = v[i] < low ? low : v[i];
        return v;
    }
    static Reg atMost(float high, Reg v)
    {
        for (int i = 0; i < kLanes; ++i)
            v[i] = v[i] > high ? high : v[i];
        return v;
    }
    static Reg larger(Reg a, Reg b)
    {
        for (int i = 0; i < kLanes; ++i)
            a[i] = a[i] > b[i] ? a[i] : b[i];
        return a;
    }
    static Reg nearest(Reg v)
    {
        for (int i = 0; i < kLanes; ++i)
            v[i] = std::nearbyint(v[i]);
        return v;
    }
    // 2^n of whole numbers −126 … 127.
    static Reg powerOfTwo(Reg n)
    {
        for (int i = 0; i < kLanes; ++i) {
            const int exponent = n[i] >= -126.0f ? static_cast<int>(n[i]) : 0;  // NaN has no whole number
            const std::uint32_t bits = static_cast<std::uint32_t>(exponent + 127) << 23;
            float power;
            std::memcpy(&power, &bits, sizeof power);
            n[i] = power;
        }
        return n;
    }
    static Reg swapPairs(Reg v) { return Reg{v[1], v[0], v[3], v[2]}; }
    // Lanes begin ≤ i < end of v, `other` elsewhere.
    static Reg keepLanes(Reg v, int begin, int end, Reg other)
    {
        for (int i = 0; i < kLanes; ++i)
            v[i] = i >= begin && i < end ? v[i] : other[i];
        return v;
    }
    static float sum(Reg v) { return (v[0] + v[2]) + (v[1] + v[3]); }
    static float largest(Reg v)
    {
        const float a = v[0] > v[2] ? v[0] : v[2];
        const float b = v[1] > v[3] ? v[1] : v[3];
        return a > b ? a : b;
    }
    static bool allFinite(Reg v)
    {
        const Reg difference = v - v;  // NaN for both NaN and infinity
        return difference[0] == 0 && difference[1] == 0 && difference[2] == 0 && difference[3] == 0;
    }

    static Reg loadHalf(const std::uint16_t* p)
    {
        Reg v;
        for (int i = 0; i < kLanes; ++i)
            v[i] = fromHalf(p[i]);
        return v;
    }
    static void storeHalf(std::uint16_t* p, Reg v)
    {
        for (int i = 0; i < kLanes; ++i)
            p[i] = toHalf(v[i]);
    }

private:
    static float fromHalf(std::uint16_t half)
    {
        const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
        const std::uint32_t magnitude = half & 0x7fffu;
        std::uint32_t bits;
        if (magnitude >= 0x7c00u)  // infinity or NaN
            bits = 0x7f800000u | (magnitude << 13);
        else if (magnitude >= 0x0400u)
            bits = (magnitude << 13) + (112u << 23);
        else {  // subnormal: a multiple of 2^−24
            const float value = static_cast<float>(magnitude) * 0x1p-24f;
            std::memcpy(&bits, &value, sizeof bits);
        }
        bits |= sign;
        float result;
        std::memcpy(&result, &bits, sizeof result);
        return result;
    }
    // Rounds to nearest, ties to even, as the F16C instructions do.
    static std::uint16_t toHalf(float value)
    {
        std::uint32_t bits;
        std::memcpy(&bits, &value, sizeof bits);
        const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
        bits &= 0x7fffffffu;
        if (bits > 0x7f800000u)
            return static_cast<std::uint16_t>(sign | 0x7e00u);
        if (bits >= 0x47800000u)  // 65,536 and above
            return static_cast<std::uint16_t>(sign | 0x7c00u);
        if (bits < 0x38800000u) {  // below 2^−14: the sum's last place is a subnormal half's
            float magnitude;
            std::memcpy(&magnitude, &bits, sizeof magnitude);
            magnitude += 0.5f;
            std::memcpy(&bits, &magnitude, sizeof bits);
            return static_cast<std::uint16_t>(sign | (bits - 0x3f000000u));
        }
        bits += 0xc8000fffu + ((bits >> 13) & 1u);  // exponent 127 → 15, and rounding
        return static_cast<std::uint16_t>(sign | (bits >> 13));
    }
};

}  // namespace
}  // namespace tokenscope::kernels
