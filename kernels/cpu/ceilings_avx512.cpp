#include "kernels/cpu/ceilings_kernels.h"

#include <immintrin.h>

namespace tokenscope::kernels {
namespace {

// Loops over the sums are unrolled by force: left as loops, -O2 keeps the sums in memory and measures that.
constexpr int kVectorBytes = 64;
constexpr int kStreams = 8;  // loads in flight from one loop body
constexpr int kSums = 16;    // vpdpbusd and FMA take 4 to 5 cycles and up to two start in each

std::uint64_t reduce(__m512i v)
{
    alignas(64) std::uint64_t lanes[8];
    _mm512_store_si512(lanes, v);
    std::uint64_t all = 0;
    for (int i = 0; i < 8; ++i)
        all ^= lanes[i];
    return all;
}

std::uint64_t read(const std::byte* data, std::size_t bytes)
{
    __m512i sums[kStreams] = {};
    for (std::size_t at = 0; at < bytes; at += kStreams * kVectorBytes)
#pragma GCC unroll 16
        for (int i = 0; i < kStreams; ++i)
            sums[i] = _mm512_or_si512(sums[i], _mm512_load_si512(data + at + i * kVectorBytes));
#pragma GCC unroll 16
    for (int i = 1; i < kStreams; ++i)
        sums[0] = _mm512_or_si512(sums[0], sums[i]);
    return reduce(sums[0]);
}

std::uint64_t multiplyInt8(int rounds)
{
    // Different beginnings, or the compiler sees that all sums are the same and keeps one.
    __m512i sums[kSums];
#pragma GCC unroll 16
    for (int i = 0; i < kSums; ++i)
        sums[i] = _mm512_set1_epi32(i);
    __m512i weights = _mm512_set1_epi8(7);
    const __m512i x = _mm512_set1_epi8(3);
    for (int round = 0; round < rounds; ++round) {
        asm volatile("" : "+v"(weights));  // may have changed: the product is computed anew
#pragma GCC unroll 16
        for (int i = 0; i < kSums; ++i)
            sums[i] = _mm512_dpbusd_epi32(sums[i], weights, x);
    }
#pragma GCC unroll 16
    for (int i = 1; i < kSums; ++i)
        sums[0] = _mm512_xor_si512(sums[0], sums[i]);
    return reduce(sums[0]);
}

// x/2 + 1 stays near 2, away from slow denormals.
std::uint64_t multiplyF32(int rounds)
{
    __m512 sums[kSums];
#pragma GCC unroll 16
    for (int i = 0; i < kSums; ++i)
        sums[i] = _mm512_set1_ps(static_cast<float>(i));
    __m512 half = _mm512_set1_ps(0.5f);
    const __m512 one = _mm512_set1_ps(1.0f);
    for (int round = 0; round < rounds; ++round) {
        asm volatile("" : "+v"(half));
#pragma GCC unroll 16
        for (int i = 0; i < kSums; ++i)
            sums[i] = _mm512_fmadd_ps(sums[i], half, one);
    }
#pragma GCC unroll 16
    for (int i = 1; i < kSums; ++i)
        sums[0] = _mm512_xor_ps(sums[0], sums[i]);
    return reduce(_mm512_castps_si512(sums[0]));
}

}  // namespace

const CeilingKernels kCeilingsAvx512{read, multiplyInt8, multiplyF32, kSums * 64, kSums * 16};

}  // namespace tokenscope::kernels
