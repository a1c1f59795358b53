// The vector of row_ops_body.h and attention_body.h for NEON. Included by *_neon.cpp only.
#pragma once

#include <arm_neon.h>

#include <cstdint>

namespace tokenscope::kernels {
namespace {

struct Vec {
    using Reg = float32x4_t;
    static constexpr int kLanes = 4;
    static constexpr int kScoreRows = 6, kScoreColumns = 4;  // 24 accumulators, 4 keys, 1 broadcast of 32 registers
    static constexpr int kValueRows = 6, kValueColumns = 4;

    static Reg zero() { return vdupq_n_f32(0.0f); }
    static Reg all(float x) { return vdupq_n_f32(x); }
    static Reg load(const float* p) { return vld1q_f32(p); }
    static void store(float* p, Reg v) { vst1q_f32(p, v); }
    static Reg add(Reg a, Reg b) { return vaddq_f32(a, b); }
    static Reg sub(Reg a, Reg b) { return vsubq_f32(a, b); }
    static Reg mul(Reg a, Reg b) { return vmulq_f32(a, b); }
    static Reg div(Reg a, Reg b) { return vdivq_f32(a, b); }
    static Reg fma(Reg a, Reg b, Reg c) { return vfmaq_f32(c, a, b); }
    // NaN in `v` stays: a broken model must be noticed in the logits.
    static Reg atLeast(float low, Reg v) { return vmaxq_f32(vdupq_n_f32(low), v); }
    static Reg atMost(float high, Reg v) { return vminq_f32(vdupq_n_f32(high), v); }
    // b where one of them is NaN, as everywhere else; NEON's own maximum would be NaN.
    static Reg larger(Reg a, Reg b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
    static Reg nearest(Reg v) { return vrndnq_f32(v); }
    // 2^n of whole numbers −126 … 127.
    static Reg powerOfTwo(Reg n)
    {
        const int32x4_t exponent = vaddq_s32(vcvtnq_s32_f32(n), vdupq_n_s32(127));
        return vreinterpretq_f32_s32(vshlq_n_s32(exponent, 23));
    }
    static Reg swapPairs(Reg v) { return vrev64q_f32(v); }
    // Lanes begin ≤ i < end of v, `other` elsewhere.
    static Reg keepLanes(Reg v, int begin, int end, Reg other)
    {
        constexpr std::int32_t kLaneNumbers[kLanes] = {0, 1, 2, 3};
        const int32x4_t lane = vld1q_s32(kLaneNumbers);
        return vbslq_f32(vandq_u32(vcgeq_s32(lane, vdupq_n_s32(begin)), vcltq_s32(lane, vdupq_n_s32(end))), v, other);
    }
    static float sum(Reg v)
    {
        const float32x2_t half = vadd_f32(vget_low_f32(v), vget_high_f32(v));
        return vget_lane_f32(half, 0) + vget_lane_f32(half, 1);
    }
    static float largest(Reg v) { return vmaxvq_f32(v); }
    static bool allFinite(Reg v)
    {
        const Reg difference = vsubq_f32(v, v);  // NaN for both NaN and infinity
        return vminvq_u32(vceqzq_f32(difference)) != 0;
    }
    static Reg loadHalf(const std::uint16_t* p) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p))); }
    static void storeHalf(std::uint16_t* p, Reg v) { vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(v))); }
};

}  // namespace
}  // namespace tokenscope::kernels
