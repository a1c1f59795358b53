#include "kernels/cpu/vocabulary_kernels.h"

#include <array>

#include <immintrin.h>

namespace tokenscope::kernels {
namespace {

constexpr int kLanes = 8;

// For each mask the lanes that are set, in front.
constexpr auto kPacked = [] {
    std::array<std::array<std::int32_t, 8>, 256> packed{};
    for (unsigned mask = 0; mask < 256; ++mask) {
        std::size_t count = 0;
        for (int lane = 0; lane < 8; ++lane)
            if ((mask >> lane & 1u) != 0)
                packed[mask][count++] = lane;
    }
    return packed;
}();

int selectChunk(const float* chunk, float low, float high, std::int32_t firstId, std::int32_t* ids)
{
    const __m256 lows = _mm256_set1_ps(low), highs = _mm256_set1_ps(high);
    int count = 0;
    for (int i = 0; i < kLogitChunk; i += kLanes) {
        const __m256 v = _mm256_loadu_ps(chunk + i);
        const __m256 inside = _mm256_and_ps(_mm256_cmp_ps(v, lows, _CMP_GE_OQ), _mm256_cmp_ps(v, highs, _CMP_LE_OQ));
        const auto mask = static_cast<unsigned>(_mm256_movemask_ps(inside));
        if (mask == 0)
            continue;
        const __m256i lanes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kPacked[mask].data()));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(ids + count),
                            _mm256_add_epi32(lanes, _mm256_set1_epi32(firstId + i)));
        count += __builtin_popcount(mask);
    }
    return count;
}

inline __m256 gather(const float* const* from, int at)
{
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(from[0] + at)), _mm_loadu_ps(from[1] + at), 1);
}

}  // namespace
}  // namespace tokenscope::kernels

#include "kernels/cpu/vocabulary_body.h"

namespace tokenscope::kernels {

const VocabularyKernels& vocabularyKernelsAvx2()
{
    return kVocabularyKernels;
}

}  // namespace tokenscope::kernels
