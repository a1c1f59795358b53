// Matrix products with AVX-512 and VNNI: vpdpbusd multiplies four columns of 16 rows by four activations at once and
// adds the sums to 32-bit integers.
//
// Per block, weights are unpacked once for all rows of x in the register tile; per row of x there are 8 vpdpbusd, one
// conversion, one multiply and one or two FMA for 512 products. 32 registers hold 8 code vectors, up to 4 vectors of
// scales, 8 sums and the running integers.
#include "kernels/cpu/matmul_driver.h"
#include "kernels/cpu/matmul_kernels.h"

#include <immintrin.h>

namespace tokenscope::kernels {
namespace {

using namespace layout;

// Small functions are inlined by force: a call would pass the code vectors through memory (Q8_0 and Q5_0 lose a third).

// Reading ahead. In quantised groups by the length of the scale plane: while the first block is computed the first
// codes are on their way, and at the end of the group the next one's scales have arrived. Every line is asked for once.
// Zen 4, a step of one row, 2 threads: a third faster than without on smollm2, gemma3 and Llama-1B's shape. In float
// panels, which are one stream, by this much.
constexpr int kPrefetchBytes = 512;

[[gnu::always_inline]] inline __m512 loadHalves(const std::byte* place)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(place)));
}
[[gnu::always_inline]] inline __m512i loadBytes(const std::byte* place)  // 16 unsigned bytes to 32-bit lanes
{
    return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(place)));
}
[[gnu::always_inline]] inline __m512i loadSignedBytes(const std::byte* place)
{
    return _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(place)));
}
[[gnu::always_inline]] inline __m512i loadVector(const std::byte* block, int index)
{
    return _mm512_load_si512(block + index * kVectorBytes);
}
// Lanes of 16 bits, because there is no shift of bytes: what crosses into a neighbour is masked away by the callers.
template <int kLeft>
[[gnu::always_inline]] inline __m512i shift(__m512i v)
{
    if constexpr (kLeft > 0)
        return _mm512_slli_epi16(v, kLeft);
    else if constexpr (kLeft < 0)
        return _mm512_srli_epi16(v, -kLeft);
    else
        return v;
}

// low | (high & mask) in one instruction; the number is the truth table of a | (b & c).
[[gnu::always_inline]] inline __m512i orMasked(__m512i low, __m512i high, int mask)
{
    return _mm512_ternarylogic_epi32(low, high, _mm512_set1_epi8(static_cast<char>(mask)), 0xf8);
}

// Code vector j of a block.
template <int kBits, int j>
[[gnu::always_inline]] inline __m512i codes(const std::byte* block)
{
    if constexpr (kBits == 8)
        return loadVector(block, j);
    __m512i low;
    if constexpr (kBits >= 4)
        low = _mm512_and_si512(shift < j<4 ? 0 : -4>(loadVector(block, j % 4)), _mm512_set1_epi8(0x0f));
    else
        low = _mm512_and_si512(shift<-2 * (j % 4)>(loadVector(block, j / 4)), _mm512_set1_epi8(3));
    if constexpr (kBits == 5)
        return orMasked(low, shift<4 - j>(loadVector(block, 4)), 0x10);
    else if constexpr (kBits == 3)
        return orMasked(low, shift<2 - j>(loadVector(block, 2)), 0x04);
    else if constexpr (kBits == 6)
        return orMasked(low, shift<4 - 2 * (j % 4)>(loadVector(block, 4 + j / 4)), 0x30);
    else
        return low;
}

// Scales of one block of 16 rows, as f32: [0] of all 32 columns or the first 16, [1] of the second 16.
struct Scales {
    __m512 d[2];
    __m512 min[2];
};

template <ScaleKind kKind>
[[gnu::always_inline]] inline Scales loadScales(const std::byte* header, const std::byte* block)
{
    Scales s{};
    if constexpr (kKind == ScaleKind::Half) {
        s.d[0] = loadHalves(block);
    } else if constexpr (kKind == ScaleKind::HalfMin) {
        s.d[0] = loadHalves(block);
        s.min[0] = loadHalves(block + 2 * kRows);
    } else if constexpr (kKind == ScaleKind::SuperMin) {
        const __m512 negMin = _mm512_xor_ps(loadHalves(header + 2 * kRows), _mm512_set1_ps(-0.0f));
        s.d[0] = _mm512_mul_ps(loadHalves(header), _mm512_cvtepi32_ps(loadBytes(block)));
        s.min[0] = _mm512_mul_ps(negMin, _mm512_cvtepi32_ps(loadBytes(block + kRows)));
    } else if constexpr (kKind == ScaleKind::SuperPair) {
        const __m512 d = loadHalves(header);
        s.d[0] = _mm512_mul_ps(d, _mm512_cvtepi32_ps(loadSignedBytes(block)));
        s.d[1] = _mm512_mul_ps(d, _mm512_cvtepi32_ps(loadSignedBytes(block + kRows)));
    } else {
        const __m512 d = loadHalves(header);
        const __m512 min = loadHalves(header + 2 * kRows);  // positive: multiplied with negative sums
        const __m512i nibble = _mm512_set1_epi32(15);
        for (int half = 0; half < 2; ++half) {
            const __m512i both = loadBytes(block + half * kRows);
            s.d[half] = _mm512_mul_ps(d, _mm512_cvtepi32_ps(_mm512_and_si512(both, nibble)));
            s.min[half] = _mm512_mul_ps(min, _mm512_cvtepi32_ps(_mm512_srli_epi32(both, 4)));
        }
    }
    return s;
}

// dot += four columns of 16 rows · the four activations at q. In assembly, because GCC 12 does not fold the broadcast
// into the instruction, which costs a register and an instruction each.
[[gnu::always_inline]] inline void addProducts(__m512i& dot, __m512i weights, const std::int8_t* q)
{
    asm("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(dot) : "v"(weights), "m"(*reinterpret_cast<const char(*)[4]>(q)));
}

template <int kShift>
[[gnu::always_inline]] inline __m512i startSum(std::int32_t negSum)
{
    if constexpr (kShift < 0)
        return _mm512_setzero_si512();
    else
        return _mm512_slli_epi32(_mm512_set1_epi32(negSum), kShift);
}

[[gnu::always_inline]] inline void store(const TileJob& job, int token, __m512 sum)
{
    float* out = job.out + token * job.outStride;
    const auto mask = static_cast<__mmask16>((1u << job.rows) - 1);
    if (job.accumulate)
        sum = _mm512_add_ps(_mm512_maskz_loadu_ps(mask, out), sum);
    _mm512_mask_storeu_ps(out, mask, sum);
}

template <QuantLayout L>
struct Quant {
    static constexpr int kTokens = hasPair(L.scales) ? 8 : 16;

    // The order of float operations per output element, the same in every instruction set and for every register tile:
    // block by block sum = fma(float(Σ code · q) · scale, d, sum), the second half's likewise, then the minima's.
    [[gnu::always_inline]] inline static void block(const __m512i (&w)[8], const Scales& s, const ActivationBlock& a,
                                                    __m512& sum)
    {
        const __m512 scale = _mm512_set1_ps(a.scale);
        if constexpr (!hasPair(L.scales)) {
            __m512i dot = startSum<L.offsetShift>(a.negSum);
#pragma GCC unroll 8
            for (int j = 0; j < 8; ++j)
                addProducts(dot, w[j], a.q + 4 * j);
            sum = _mm512_fmadd_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(dot), scale), s.d[0], sum);
            if constexpr (hasMinimum(L.scales))
                sum = _mm512_fmadd_ps(s.min[0], _mm512_set1_ps(a.scaledSum), sum);
        } else {
            const std::int32_t negSums[2] = {a.negHalfSum, a.negSum - a.negHalfSum};
#pragma GCC unroll 2
            for (int half = 0; half < 2; ++half) {
                __m512i dot = startSum<L.offsetShift>(negSums[half]);
#pragma GCC unroll 4
                for (int j = 4 * half; j < 4 * half + 4; ++j)
                    addProducts(dot, w[j], a.q + 4 * j);
                sum = _mm512_fmadd_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(dot), scale), s.d[half], sum);
            }
            if constexpr (hasMinimum(L.scales)) {
#pragma GCC unroll 2
                for (int half = 0; half < 2; ++half) {
                    const __m512 negSum = _mm512_cvtepi32_ps(_mm512_set1_epi32(negSums[half]));
                    sum = _mm512_fmadd_ps(s.min[half], _mm512_mul_ps(negSum, scale), sum);
                }
            }
        }
    }

    template <int T>
    static void run(const TileJob& job)
    {
        constexpr int kUnit = isSuper(L.scales) ? kSuperBlocks : 1;
        constexpr int kHeader = superHeaderBytes(L.scales);
        const std::byte* scales = job.group;
        const std::byte* code = job.group + scalePlaneBytes<L>(job.cols);
        const std::byte* ahead = code;
        const ActivationBlock* x = job.x;
        __m512 sums[T];
#pragma GCC unroll 16
        for (int t = 0; t < T; ++t)
            sums[t] = _mm512_setzero_ps();

        for (int unit = job.cols / (kBlock * kUnit); unit > 0; --unit) {
            const std::byte* header = scales;
            scales += kHeader;
            ahead += kHeader;
            for (int b = 0; b < kUnit; ++b) {
#pragma GCC unroll 10
                for (int line = 0; line < (blockCodeBytes(L.bits) + blockScaleBytes(L.scales) + 63) / 64; ++line)
                    _mm_prefetch(ahead + 64 * line, _MM_HINT_T0);
                ahead += blockCodeBytes(L.bits) + blockScaleBytes(L.scales);
                const Scales s = loadScales<L.scales>(header, scales);
                const __m512i w[8] = {codes<L.bits, 0>(code), codes<L.bits, 1>(code), codes<L.bits, 2>(code),
                                      codes<L.bits, 3>(code), codes<L.bits, 4>(code), codes<L.bits, 5>(code),
                                      codes<L.bits, 6>(code), codes<L.bits, 7>(code)};
#pragma GCC unroll 16
                for (int t = 0; t < T; ++t)
                    block(w, s, x[t], sums[t]);
                x += job.xTokens;
                scales += blockScaleBytes(L.scales);
                code += blockCodeBytes(L.bits);
            }
        }
#pragma GCC unroll 16
        for (int t = 0; t < T; ++t)
            store(job, t, sums[t]);
    }
};

template <DType kType>
[[gnu::always_inline]] inline __m512 loadWeights(const std::byte* panel, std::ptrdiff_t column)
{
    if constexpr (kType == DType::F32)
        return _mm512_load_ps(panel + column * kRows * 4);
    else if constexpr (kType == DType::F16)
        return loadHalves(panel + column * kRows * 2);
    else
        return _mm512_castsi512_ps(_mm512_slli_epi32(
            _mm512_cvtepu16_epi32(_mm256_load_si256(reinterpret_cast<const __m256i*>(panel + column * kRows * 2))),
            16));
}

// Even and odd columns have a sum each, added at the end: one chain of FMA has a latency of 4 cycles a column, which at
// one row of x would be slower than memory.
template <DType kType>
struct Float {
    static constexpr int kTokens = 8;

    template <int T>
    static void run(const TileJob& job)
    {
        __m512 even[T];
        __m512 odd[T];
#pragma GCC unroll 8
        for (int t = 0; t < T; ++t)
            even[t] = odd[t] = _mm512_setzero_ps();
        const float* x = job.xFloats;
        std::ptrdiff_t k = 0;
        for (; k + 1 < job.cols; k += 2) {
            _mm_prefetch(job.group + k * kRows * (kType == DType::F32 ? 4 : 2) + kPrefetchBytes, _MM_HINT_T0);
            const __m512 w0 = loadWeights<kType>(job.group, k);
            const __m512 w1 = loadWeights<kType>(job.group, k + 1);
#pragma GCC unroll 8
            for (int t = 0; t < T; ++t) {
                even[t] = _mm512_fmadd_ps(w0, _mm512_set1_ps(x[t]), even[t]);
                odd[t] = _mm512_fmadd_ps(w1, _mm512_set1_ps(x[job.xTokens + t]), odd[t]);
            }
            x += 2 * job.xTokens;
        }
        if (k < job.cols) {
            const __m512 w0 = loadWeights<kType>(job.group, k);
#pragma GCC unroll 8
            for (int t = 0; t < T; ++t)
                even[t] = _mm512_fmadd_ps(w0, _mm512_set1_ps(x[t]), even[t]);
        }
#pragma GCC unroll 8
        for (int t = 0; t < T; ++t)
            store(job, t, _mm512_add_ps(even[t], odd[t]));
    }
};

}  // namespace

const MatmulKernels& avx512MatmulKernels()
{
    static constexpr MatmulKernels kKernels{&quantizeAvx512, &multiplyAny<Quant, Float>, &unpackRowScalar};
    return kKernels;
}

}  // namespace tokenscope::kernels
