// The vector of row_ops_body.h and attention_body.h for AVX2 with FMA and F16C. Included by *_avx2.cpp only.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace tokenscope::kernels {
namespace {

struct Vec {
    using Reg = __m256;
    static constexpr int kLanes = 8;
    static constexpr int kScoreRows = 6, kScoreColumns = 2;  // 12 accumulators, 2 keys, 1 broadcast of 16 registers
    static constexpr int kValueRows = 6, kValueColumns = 2;

    static Reg zero() { return _mm256_setzero_ps(); }
    static Reg all(float x) { return _mm256_set1_ps(x); }
    static Reg load(const float* p) { return _mm256_loadu_ps(p); }
    static void store(float* p, Reg v) { _mm256_storeu_ps(p, v); }
    static Reg add(Reg a, Reg b) { return _mm256_add_ps(a, b); }
    static Reg sub(Reg a, Reg b) { return _mm256_sub_ps(a, b); }
    static Reg mul(Reg a, Reg b) { return _mm256_mul_ps(a, b); }
    static Reg div(Reg a, Reg b) { return _mm256_div_ps(a, b); }
    static Reg fma(Reg a, Reg b, Reg c) { return _mm256_fmadd_ps(a, b, c); }
    // NaN in `v` stays (the instruction gives its second operand): a broken model must be noticed in the logits.
    static Reg atLeast(float low, Reg v) { return _mm256_max_ps(_mm256_set1_ps(low), v); }
    static Reg atMost(float high, Reg v) { return _mm256_min_ps(_mm256_set1_ps(high), v); }
    static Reg larger(Reg a, Reg b) { return _mm256_max_ps(a, b); }
    static Reg nearest(Reg v) { return _mm256_round_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
    // 2^n of whole numbers −126 … 127.
    static Reg powerOfTwo(Reg n)
    {
        const __m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
        return _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23));
    }
    static Reg swapPairs(Reg v) { return _mm256_permute_ps(v, 0xb1); }
    // Lanes begin ≤ i < end of v, `other` elsewhere.
    static Reg keepLanes(Reg v, int begin, int end, Reg other)
    {
        const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        const __m256i keep = _mm256_and_si256(_mm256_cmpgt_epi32(lane, _mm256_set1_epi32(begin - 1)),
                                              _mm256_cmpgt_epi32(_mm256_set1_epi32(end), lane));
        return _mm256_blendv_ps(other, v, _mm256_castsi256_ps(keep));
    }
    static float sum(Reg v)
    {
        __m128 half = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
        half = _mm_add_ps(half, _mm_movehl_ps(half, half));
        return _mm_cvtss_f32(_mm_add_ss(half, _mm_shuffle_ps(half, half, 1)));
    }
    static float largest(Reg v)
    {
        __m128 half = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
        half = _mm_max_ps(half, _mm_movehl_ps(half, half));
        return _mm_cvtss_f32(_mm_max_ss(half, _mm_shuffle_ps(half, half, 1)));
    }
    static bool allFinite(Reg v)
    {
        const Reg difference = _mm256_sub_ps(v, v);  // NaN for both NaN and infinity
        return _mm256_movemask_ps(_mm256_cmp_ps(difference, _mm256_setzero_ps(), _CMP_EQ_OQ)) == 0xff;
    }
    static Reg loadHalf(const std::uint16_t* p)
    {
        return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
    }
    static void storeHalf(std::uint16_t* p, Reg v)
    {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(p),
                         _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    }
};

}  // namespace
}  // namespace tokenscope::kernels
