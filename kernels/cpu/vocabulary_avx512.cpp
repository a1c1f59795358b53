#include "kernels/cpu/vocabulary_kernels.h"

#include <immintrin.h>

namespace tokenscope::kernels {
namespace {

constexpr int kLanes = 16;

// Compressed in a register: Zen 4 takes a hundred cycles to compress into memory.
int selectChunk(const float* chunk, float low, float high, std::int32_t firstId, std::int32_t* ids)
{
    const __m512 lows = _mm512_set1_ps(low), highs = _mm512_set1_ps(high);
    const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    int count = 0;
    for (int i = 0; i < kLogitChunk; i += kLanes) {
        const __m512 v = _mm512_loadu_ps(chunk + i);
        const __mmask16 inside = _mm512_mask_cmp_ps_mask(_mm512_cmp_ps_mask(v, lows, _CMP_GE_OQ), v, highs, _CMP_LE_OQ);
        if (inside == 0)
            continue;
        const __m512i found = _mm512_add_epi32(lanes, _mm512_set1_epi32(firstId + i));
        _mm512_storeu_si512(ids + count, _mm512_maskz_compress_epi32(inside, found));
        count += __builtin_popcount(inside);
    }
    return count;
}

inline __m512 gather(const float* const* from, int at)
{
    __m512 v = _mm512_castps128_ps512(_mm_loadu_ps(from[0] + at));
    v = _mm512_insertf32x4(v, _mm_loadu_ps(from[1] + at), 1);
    v = _mm512_insertf32x4(v, _mm_loadu_ps(from[2] + at), 2);
    return _mm512_insertf32x4(v, _mm_loadu_ps(from[3] + at), 3);
}

}  // namespace
}  // namespace tokenscope::kernels

#include "kernels/cpu/vocabulary_body.h"

namespace tokenscope::kernels {

const VocabularyKernels& vocabularyKernelsAvx512()
{
    return kVocabularyKernels;
}

}  // namespace tokenscope::kernels
