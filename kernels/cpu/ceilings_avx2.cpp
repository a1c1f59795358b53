#include "kernels/cpu/ceilings_kernels.h"

#include <immintrin.h>

namespace tokenscope::kernels {
namespace {

// Loops over the sums are unrolled by force: left as loops, -O2 keeps the sums in memory and measures that.
constexpr int kVectorBytes = 32;
constexpr int kStreams = 8;     // loads in flight from one loop body
constexpr int kInt8Sums = 8;    // 16-bit sums; an add takes one cycle, so these are plenty
constexpr int kFloatSums = 12;  // an FMA takes 4 to 5 cycles and two start in each

std::uint64_t reduce(__m256i v)
{
    return static_cast<std::uint64_t>(_mm256_extract_epi64(v, 0) ^ _mm256_extract_epi64(v, 1) ^
                                      _mm256_extract_epi64(v, 2) ^ _mm256_extract_epi64(v, 3));
}

std::uint64_t read(const std::byte* data, std::size_t bytes)
{
    __m256i sums[kStreams] = {};
    for (std::size_t at = 0; at < bytes; at += kStreams * kVectorBytes)
#pragma GCC unroll 16
        for (int i = 0; i < kStreams; ++i)
            sums[i] = _mm256_or_si256(
                sums[i], _mm256_load_si256(reinterpret_cast<const __m256i*>(data + at + i * kVectorBytes)));
#pragma GCC unroll 16
    for (int i = 1; i < kStreams; ++i)
        sums[0] = _mm256_or_si256(sums[0], sums[i]);
    return reduce(sums[0]);
}

// vpmaddubsw and a 16-bit add, 32 products each: what a kernel does between two widenings.
std::uint64_t multiplyInt8(int rounds)
{
    __m256i sums[kInt8Sums] = {};
    __m256i weights = _mm256_set1_epi8(7);
    const __m256i x = _mm256_set1_epi8(3);
    for (int round = 0; round < rounds; ++round)
#pragma GCC unroll 16
        for (int i = 0; i < kInt8Sums; ++i) {
            asm volatile("" : "+x"(weights));  // may have changed: the product is computed anew
            sums[i] = _mm256_add_epi16(sums[i], _mm256_maddubs_epi16(weights, x));
        }
#pragma GCC unroll 16
    for (int i = 1; i < kInt8Sums; ++i)
        sums[0] = _mm256_xor_si256(sums[0], sums[i]);
    return reduce(sums[0]);
}

// x/2 + 1 stays near 2, away from slow denormals.
std::uint64_t multiplyF32(int rounds)
{
    // Different beginnings, or the compiler sees that all sums are the same and keeps one.
    __m256 sums[kFloatSums];
#pragma GCC unroll 16
    for (int i = 0; i < kFloatSums; ++i)
        sums[i] = _mm256_set1_ps(static_cast<float>(i));
    __m256 half = _mm256_set1_ps(0.5f);
    const __m256 one = _mm256_set1_ps(1.0f);
    for (int round = 0; round < rounds; ++round) {
        asm volatile("" : "+x"(half));
#pragma GCC unroll 16
        for (int i = 0; i < kFloatSums; ++i)
            sums[i] = _mm256_fmadd_ps(sums[i], half, one);
    }
#pragma GCC unroll 16
    for (int i = 1; i < kFloatSums; ++i)
        sums[0] = _mm256_xor_ps(sums[0], sums[i]);
    return reduce(_mm256_castps_si256(sums[0]));
}

}  // namespace

const CeilingKernels kCeilingsAvx2{read, multiplyInt8, multiplyF32, kInt8Sums * 32, kFloatSums * 8};

}  // namespace tokenscope::kernels
