// The vector of row_ops_body.h and attention_body.h for AVX-512. Included by *_avx512.cpp only.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace tokenscope::kernels {
namespace {

struct Vec {
    using Reg = __m512;
    static constexpr int kLanes = 16;
    static constexpr int kScoreRows = 12, kScoreColumns = 2;  // 24 accumulators of 32 registers
    static constexpr int kValueRows = 6, kValueColumns = 4;

    static Reg zero() { return _mm512_setzero_ps(); }
    static Reg all(float x) { return _mm512_set1_ps(x); }
    static Reg load(const float* p) { return _mm512_loadu_ps(p); }
    static void store(float* p, Reg v) { _mm512_storeu_ps(p, v); }
    static Reg add(Reg a, Reg b) { return _mm512_add_ps(a, b); }
    static Reg sub(Reg a, Reg b) { return _mm512_sub_ps(a, b); }
    static Reg mul(Reg a, Reg b) { return _mm512_mul_ps(a, b); }
    static Reg div(Reg a, Reg b) { return _mm512_div_ps(a, b); }
    static Reg fma(Reg a, Reg b, Reg c) { return _mm512_fmadd_ps(a, b, c); }
    // NaN in `v` stays (the instruction gives its second operand): a broken model must be noticed in the logits.
    static Reg atLeast(float low, Reg v) { return _mm512_max_ps(_mm512_set1_ps(low), v); }
    static Reg atMost(float high, Reg v) { return _mm512_min_ps(_mm512_set1_ps(high), v); }
    static Reg larger(Reg a, Reg b) { return _mm512_max_ps(a, b); }
    static Reg nearest(Reg v) { return _mm512_roundscale_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
    // 2^n of whole numbers −126 … 127.
    static Reg powerOfTwo(Reg n)
    {
        const __m512i exponent = _mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127));
        return _mm512_castsi512_ps(_mm512_slli_epi32(exponent, 23));
    }
    static Reg swapPairs(Reg v) { return _mm512_permute_ps(v, 0xb1); }
    // Lanes begin ≤ i < end of v, `other` elsewhere.
    static Reg keepLanes(Reg v, int begin, int end, Reg other)
    {
        const auto below = [](int n) { return n <= 0 ? 0u : n >= 16 ? 0xffffu : (1u << n) - 1u; };
        return _mm512_mask_blend_ps(static_cast<__mmask16>(below(end) & ~below(begin)), other, v);
    }
    static float sum(Reg v)
    {
        const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
        __m128 quarter = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
        quarter = _mm_add_ps(quarter, _mm_movehl_ps(quarter, quarter));
        return _mm_cvtss_f32(_mm_add_ss(quarter, _mm_shuffle_ps(quarter, quarter, 1)));
    }
    static float largest(Reg v)
    {
        const __m256 half = _mm256_max_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
        __m128 quarter = _mm_max_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
        quarter = _mm_max_ps(quarter, _mm_movehl_ps(quarter, quarter));
        return _mm_cvtss_f32(_mm_max_ss(quarter, _mm_shuffle_ps(quarter, quarter, 1)));
    }
    static bool allFinite(Reg v)
    {
        const Reg difference = _mm512_sub_ps(v, v);  // NaN for both NaN and infinity
        return _mm512_cmp_ps_mask(difference, _mm512_setzero_ps(), _CMP_EQ_OQ) == 0xffff;
    }
    static Reg loadHalf(const std::uint16_t* p)
    {
        return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
    }
    static void storeHalf(std::uint16_t* p, Reg v)
    {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                            _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    }
};

}  // namespace
}  // namespace tokenscope::kernels
