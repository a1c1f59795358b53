#include "kernels/cpu/ceilings_kernels.h"

#include <arm_neon.h>

namespace tokenscope::kernels {
namespace {

// Loops over the sums are unrolled by force: left as loops, -O2 keeps the sums in memory and measures that.
constexpr int kVectorBytes = 16;
constexpr int kStreams = 8;  // loads in flight from one loop body
constexpr int kSums = 16;    // sdot and FMA take 4 cycles and up to four start in each

std::uint64_t reduce(uint64x2_t v)
{
    return vgetq_lane_u64(v, 0) ^ vgetq_lane_u64(v, 1);
}

std::uint64_t read(const std::byte* data, std::size_t bytes)
{
    const auto* place = reinterpret_cast<const std::uint64_t*>(data);
    uint64x2_t sums[kStreams] = {};
    for (std::size_t at = 0; at < bytes; at += kStreams * kVectorBytes, place += kStreams * 2)
#pragma GCC unroll 16
        for (int i = 0; i < kStreams; ++i)
            sums[i] = vorrq_u64(sums[i], vld1q_u64(place + 2 * i));
#pragma GCC unroll 16
    for (int i = 1; i < kStreams; ++i)
        sums[0] = vorrq_u64(sums[0], sums[i]);
    return reduce(sums[0]);
}

std::uint64_t multiplyInt8(int rounds)
{
    // Different beginnings, or the compiler sees that all sums are the same and keeps one.
    int32x4_t sums[kSums];
#pragma GCC unroll 16
    for (int i = 0; i < kSums; ++i)
        sums[i] = vdupq_n_s32(i);
    int8x16_t weights = vdupq_n_s8(7);
    const int8x16_t x = vdupq_n_s8(3);
    for (int round = 0; round < rounds; ++round) {
        asm volatile("" : "+w"(weights));  // may have changed: the product is computed anew
#pragma GCC unroll 16
        for (int i = 0; i < kSums; ++i)
            sums[i] = vdotq_s32(sums[i], weights, x);
    }
#pragma GCC unroll 16
    for (int i = 1; i < kSums; ++i)
        sums[0] = veorq_s32(sums[0], sums[i]);
    return reduce(vreinterpretq_u64_s32(sums[0]));
}

// x/2 + 1 stays near 2, away from slow denormals.
std::uint64_t multiplyF32(int rounds)
{
    float32x4_t sums[kSums];
#pragma GCC unroll 16
    for (int i = 0; i < kSums; ++i)
        sums[i] = vdupq_n_f32(static_cast<float>(i));
    float32x4_t half = vdupq_n_f32(0.5f);
    const float32x4_t one = vdupq_n_f32(1.0f);
    for (int round = 0; round < rounds; ++round) {
        asm volatile("" : "+w"(half));
#pragma GCC unroll 16
        for (int i = 0; i < kSums; ++i)
            sums[i] = vfmaq_f32(one, sums[i], half);
    }
    std::uint64_t all = 0;
#pragma GCC unroll 16
    for (int i = 0; i < kSums; ++i)
        all ^= reduce(vreinterpretq_u64_f32(sums[i]));
    return all;
}

}  // namespace

const CeilingKernels kCeilingsNeon{read, multiplyInt8, multiplyF32, kSums * 16, kSums * 4};

}  // namespace tokenscope::kernels
