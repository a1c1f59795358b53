// Quantising with AVX2; the plain twin in matmul_scalar.cpp states the rules.
#include "kernels/cpu/matmul_dispatch.h"
#include "kernels/cpu/matmul_kernels.h"
#include "kernels/cpu/matmul_quantize.h"

#include <immintrin.h>

namespace tokenscope::kernels {
namespace {

using namespace layout;

std::int32_t sumOf8(__m256i v)
{
    __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4e));
    sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xb1));
    return _mm_cvtsi128_si32(sum);
}

std::uint32_t maxOf8(__m256i v)
{
    __m128i max = _mm_max_epu32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    max = _mm_max_epu32(max, _mm_shuffle_epi32(max, 0x4e));
    max = _mm_max_epu32(max, _mm_shuffle_epi32(max, 0xb1));
    return static_cast<std::uint32_t>(_mm_cvtsi128_si32(max));
}

void quantizeBlock(const float* x, ActivationBlock& out)
{
    const __m256i absolute = _mm256_set1_epi32(0x7fffffff);
    __m256 v[4];
    __m256i maxBits = _mm256_setzero_si256();
    for (int i = 0; i < 4; ++i) {
        v[i] = _mm256_loadu_ps(x + 8 * i);
        maxBits = _mm256_max_epu32(maxBits, _mm256_and_si256(_mm256_castps_si256(v[i]), absolute));
    }
    float inverse = 0.0f;
    out.scale = blockScale(maxOf8(maxBits), inverse);
    if (inverse == 0.0f) {
        setWithoutValues(out);
        return;
    }
    __m256i q[4];
    for (int i = 0; i < 4; ++i)
        q[i] = _mm256_cvtps_epi32(_mm256_mul_ps(v[i], _mm256_set1_ps(inverse)));  // to nearest, ties to even
    // The packs work within 128-bit lanes; the permutation puts the 4-byte pieces back in order.
    const __m256i words01 = _mm256_packs_epi32(q[0], q[1]);
    const __m256i words23 = _mm256_packs_epi32(q[2], q[3]);
    const __m256i bytes =
        _mm256_permutevar8x32_epi32(_mm256_packs_epi16(words01, words23), _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out.q), bytes);
    setSums(out, sumOf8(_mm256_add_epi32(q[0], q[1])), sumOf8(_mm256_add_epi32(q[2], q[3])));
}

}  // namespace

void quantizeAvx2(const float* x, std::ptrdiff_t xStride, int rowBegin, int rowEnd, bool forFloatWeights,
                  Activations& activations)
{
    quantizeRows(&quantizeBlock, x, xStride, rowBegin, rowEnd, forFloatWeights, activations);
}

}  // namespace tokenscope::kernels
