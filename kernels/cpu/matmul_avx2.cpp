// Matrix products with AVX2 and FMA, on the layout that AVX-512 reads, 8 rows (half a vector) at a time.
//
// vpmaddubsw multiplies unsigned codes by signed activations and adds pairs in 16 bits; how many of its results fit in
// 16 bits depends on the largest code. The same float operations in the same order as AVX-512, so the same bits.
#include "kernels/cpu/matmul_driver.h"
#include "kernels/cpu/matmul_kernels.h"

#include <immintrin.h>

#include <utility>

namespace tokenscope::kernels {
namespace {

using namespace layout;

// Small functions are inlined by force: a call would pass the code vectors through memory (Q8_0 and Q5_0 lose a third).

constexpr int kHalfRows = 8;
constexpr int kHalfBytes = 32;

[[gnu::always_inline]] inline __m256 loadHalves(const std::byte* place, int half)
{
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(place + half * kHalfRows * 2)));
}
[[gnu::always_inline]] inline __m256i loadBytes(const std::byte* place, int half)  // 8 unsigned bytes to 32-bit lanes
{
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(place + half * kHalfRows)));
}
[[gnu::always_inline]] inline __m256i loadSignedBytes(const std::byte* place, int half)
{
    return _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(place + half * kHalfRows)));
}
[[gnu::always_inline]] inline __m256i loadVector(const std::byte* block, int index, int half)
{
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(block + index * kVectorBytes + half * kHalfBytes));
}
// Lanes of 16 bits, because there is no shift of bytes: what crosses into a neighbour is masked away by the callers.
template <int kLeft>
[[gnu::always_inline]] inline __m256i shift(__m256i v)
{
    if constexpr (kLeft > 0)
        return _mm256_slli_epi16(v, kLeft);
    else if constexpr (kLeft < 0)
        return _mm256_srli_epi16(v, -kLeft);
    else
        return v;
}

// Code vector j of half a block; 8-bit codes come signed, their offset taken away.
template <int kBits, int j>
[[gnu::always_inline]] inline __m256i codes(const std::byte* block, int half)
{
    if constexpr (kBits == 8)
        return _mm256_xor_si256(loadVector(block, j, half), _mm256_set1_epi8(static_cast<char>(0x80)));
    __m256i low;
    if constexpr (kBits >= 4)
        low = _mm256_and_si256(shift < j<4 ? 0 : -4>(loadVector(block, j % 4, half)), _mm256_set1_epi8(0x0f));
    else
        low = _mm256_and_si256(shift<-2 * (j % 4)>(loadVector(block, j / 4, half)), _mm256_set1_epi8(3));
    if constexpr (kBits == 5)
        return _mm256_or_si256(low, _mm256_and_si256(shift<4 - j>(loadVector(block, 4, half)), _mm256_set1_epi8(0x10)));
    else if constexpr (kBits == 3)
        return _mm256_or_si256(low, _mm256_and_si256(shift<2 - j>(loadVector(block, 2, half)), _mm256_set1_epi8(4)));
    else if constexpr (kBits == 6)
        return _mm256_or_si256(
            low, _mm256_and_si256(shift<4 - 2 * (j % 4)>(loadVector(block, 4 + j / 4, half)), _mm256_set1_epi8(0x30)));
    else
        return low;
}

// Scales of half a block of 16 rows: [0] of all 32 columns or the first 16, [1] of the second 16.
struct Scales {
    __m256 d[2];
    __m256 min[2];
};

template <ScaleKind kKind>
[[gnu::always_inline]] inline Scales loadScales(const std::byte* header, const std::byte* block, int half)
{
    Scales s{};
    if constexpr (kKind == ScaleKind::Half) {
        s.d[0] = loadHalves(block, half);
    } else if constexpr (kKind == ScaleKind::HalfMin) {
        s.d[0] = loadHalves(block, half);
        s.min[0] = loadHalves(block + 2 * kRows, half);
    } else if constexpr (kKind == ScaleKind::SuperMin) {
        const __m256 negMin = _mm256_xor_ps(loadHalves(header + 2 * kRows, half), _mm256_set1_ps(-0.0f));
        s.d[0] = _mm256_mul_ps(loadHalves(header, half), _mm256_cvtepi32_ps(loadBytes(block, half)));
        s.min[0] = _mm256_mul_ps(negMin, _mm256_cvtepi32_ps(loadBytes(block + kRows, half)));
    } else if constexpr (kKind == ScaleKind::SuperPair) {
        const __m256 d = loadHalves(header, half);
        s.d[0] = _mm256_mul_ps(d, _mm256_cvtepi32_ps(loadSignedBytes(block, half)));
        s.d[1] = _mm256_mul_ps(d, _mm256_cvtepi32_ps(loadSignedBytes(block + kRows, half)));
    } else {
        const __m256 d = loadHalves(header, half);
        const __m256 min = loadHalves(header + 2 * kRows, half);  // positive: multiplied with negative sums
        const __m256i nibble = _mm256_set1_epi32(15);
        for (int part = 0; part < 2; ++part) {
            const __m256i both = loadBytes(block + part * kRows, half);
            s.d[part] = _mm256_mul_ps(d, _mm256_cvtepi32_ps(_mm256_and_si256(both, nibble)));
            s.min[part] = _mm256_mul_ps(min, _mm256_cvtepi32_ps(_mm256_srli_epi32(both, 4)));
        }
    }
    return s;
}

[[gnu::always_inline]] inline __m256i broadcast4(const std::int8_t* q)
{
    std::int32_t four;
    __builtin_memcpy(&four, q, 4);
    return _mm256_set1_epi32(four);
}

// vpmaddubsw results that may be added in 16 bits: each is at most 2 · 127 · the largest code.
template <int kBits>
constexpr int kSumsIn16Bits = kBits <= 4   ? 8   // 8 · 2 · 127 · 15 = 30,480
                              : kBits == 5 ? 4   // 4 · 2 · 127 · 31 = 31,496
                              : kBits == 6 ? 2   // 2 · 2 · 127 · 63 = 32,004
                                           : 1;  // 1 · 2 · 127 · 128 = 32,512

// Makes the compiler compute the value here: left to itself it adds 16-bit sums as a tree, for which the products of
// all code vectors must be kept, on the stack.
[[gnu::always_inline]] inline void keepOrder(__m256i& value)
{
    asm("" : "+x"(value));
}

// What is in memory is read again afterwards rather than kept, on the stack.
[[gnu::always_inline]] inline void forgetRegisters()
{
    asm volatile("" ::: "memory");
}

// Where code vectors come from: unpacked when asked for, or all of them unpacked before.
struct PackedCodes {
    const std::byte* block;
    int half;
    template <int kBits, int j>
    [[gnu::always_inline]] __m256i vector() const
    {
        return codes<kBits, j>(block, half);
    }
};
struct UnpackedCodes {
    __m256i vectors[8];
    template <int kBits, int j>
    [[gnu::always_inline]] __m256i vector() const
    {
        return vectors[j];
    }
};

// total[t] = Σ code · q over code vectors kBegin … kEnd − 1, as 8 integers, for T rows of x. Each code vector is
// unpacked when its turn comes and used for all rows at once: 8 sums, the vector and a product fit in 16 registers,
// while 8 unpacked vectors would leave no room for sums (Zen 4, 8 rows: Q8_0 +40 %, 4 and 5 bits +5 %).
template <int kBits, int kBegin, int kEnd, int T, typename Source>
[[gnu::always_inline]] inline void dotProducts(const Source& source, const ActivationBlock* x, __m256i (&total)[T])
{
    constexpr int kRun = kSumsIn16Bits<kBits> < kEnd - kBegin ? kSumsIn16Bits<kBits> : kEnd - kBegin;
    const __m256i ones = _mm256_set1_epi16(1);
    __m256i run[T];
    const auto addVector = [&]<int j>() __attribute__((always_inline)) {
        constexpr bool kStartsRun = (j - kBegin) % kRun == 0, kEndsRun = (j - kBegin) % kRun == kRun - 1;
        const __m256i w = source.template vector<kBits, j>();
        const __m256i magnitude = kBits == 8 ? _mm256_abs_epi8(w) : w;
#pragma GCC unroll 8
        for (int t = 0; t < T; ++t) {
            // Signed codes: |code| · (q with the code's sign).
            const __m256i four = broadcast4(x[t].q + 4 * j);
            const __m256i product = _mm256_maddubs_epi16(magnitude, kBits == 8 ? _mm256_sign_epi8(four, w) : four);
            run[t] = kStartsRun ? product : _mm256_add_epi16(run[t], product);
            if constexpr (T > 1)
                keepOrder(run[t]);
            if constexpr (kEndsRun) {
                const __m256i wide = _mm256_madd_epi16(run[t], ones);
                total[t] = j < kBegin + kRun ? wide : _mm256_add_epi32(total[t], wide);
            }
        }
    };
    [&]<int... j>(std::integer_sequence<int, j...>) __attribute__((always_inline)) {
        (addVector.template operator()<kBegin + j>(), ...);
    }(std::make_integer_sequence<int, kEnd - kBegin>());
}

// Adds the offset's share, −(Σq << shift).
template <int kBits, int kShift>
[[gnu::always_inline]] inline __m256i withOffset(__m256i dot, std::int32_t negSum)
{
    if constexpr (kShift < 0 || kBits == 8)
        return dot;
    else
        return _mm256_add_epi32(
            dot, _mm256_set1_epi32(static_cast<std::int32_t>(static_cast<std::uint32_t>(negSum) << kShift)));
}

[[gnu::always_inline]] inline void store(const TileJob& job, int token, int half, __m256 sum)
{
    float* out = job.out + token * job.outStride + half * kHalfRows;
    const int rows = job.rows - half * kHalfRows;
    if (rows >= kHalfRows) {
        if (job.accumulate)
            sum = _mm256_add_ps(_mm256_loadu_ps(out), sum);
        _mm256_storeu_ps(out, sum);
        return;
    }
    alignas(32) float sums[kHalfRows];
    _mm256_store_ps(sums, sum);
    for (int row = 0; row < rows; ++row)
        out[row] = job.accumulate ? out[row] + sums[row] : sums[row];
}

template <QuantLayout L>
struct Quant {
    static constexpr int kTokens = 8;

    // One half block times T rows of x; the order of float operations is stated in matmul_avx512.cpp.
    template <int T, typename Source>
    [[gnu::always_inline]] inline static void block(const Source& source, const Scales& s, const ActivationBlock* x,
                                                    __m256* sums)
    {
        __m256i dots[T];
        const auto addDots = [&](int part, auto offset) __attribute__((always_inline)) {
#pragma GCC unroll 8
            for (int t = 0; t < T; ++t) {
                const __m256i dot = withOffset<L.bits, L.offsetShift>(dots[t], offset(x[t]));
                sums[t] = _mm256_fmadd_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(dot), _mm256_set1_ps(x[t].scale)), s.d[part],
                                          sums[t]);
            }
        };
        if constexpr (!hasPair(L.scales)) {
            dotProducts<L.bits, 0, 8>(source, x, dots);
            addDots(0, [](const ActivationBlock& a) { return a.negSum; });
            if constexpr (hasMinimum(L.scales))
#pragma GCC unroll 8
                for (int t = 0; t < T; ++t)
                    sums[t] = _mm256_fmadd_ps(s.min[0], _mm256_set1_ps(x[t].scaledSum), sums[t]);
        } else {
            const auto first = [](const ActivationBlock& a) { return a.negHalfSum; };
            const auto second = [](const ActivationBlock& a) { return a.negSum - a.negHalfSum; };
            dotProducts<L.bits, 0, 4>(source, x, dots);
            addDots(0, first);
            dotProducts<L.bits, 4, 8>(source, x, dots);
            addDots(1, second);
            if constexpr (hasMinimum(L.scales))
#pragma GCC unroll 8
                for (int t = 0; t < T; ++t) {
                    const auto negSum = [&](auto half16) {
                        return _mm256_mul_ps(_mm256_set1_ps(static_cast<float>(half16(x[t]))),
                                             _mm256_set1_ps(x[t].scale));
                    };
                    sums[t] = _mm256_fmadd_ps(s.min[0], negSum(first), sums[t]);
                    sums[t] = _mm256_fmadd_ps(s.min[1], negSum(second), sums[t]);
                }
        }
    }

    // Rows whose sums fit in registers beside a code vector: wider codes need sums of 32 bits beside those of 16.
    static constexpr int kAtOnce = L.bits <= 4 && !hasPair(L.scales) ? 8 : 4;

    [[gnu::always_inline]] inline static UnpackedCodes unpack(const PackedCodes& packed)
    {
        return [&]<int... j>(std::integer_sequence<int, j...>) __attribute__((always_inline)) {
            return UnpackedCodes{{packed.vector<L.bits, j>()...}};
        }(std::make_integer_sequence<int, 8>());
    }

    template <int T>
    static void run(const TileJob& job)
    {
        constexpr int kUnit = isSuper(L.scales) ? kSuperBlocks : 1;
        const std::byte* scales = job.group;
        const std::byte* code = job.group + scalePlaneBytes<L>(job.cols);
        const std::byte* ahead = code;  // as in matmul_avx512.cpp; not measured on Zen 3
        const ActivationBlock* x = job.x;
        __m256 sums[2][T];
        for (int t = 0; t < T; ++t)
            sums[0][t] = sums[1][t] = _mm256_setzero_ps();

        for (int unit = job.cols / (kBlock * kUnit); unit > 0; --unit) {
            const std::byte* header = scales;
            scales += superHeaderBytes(L.scales);
            ahead += superHeaderBytes(L.scales);
            for (int b = 0; b < kUnit; ++b) {
#pragma GCC unroll 10
                for (int line = 0; line < (blockCodeBytes(L.bits) + blockScaleBytes(L.scales) + 63) / 64; ++line)
                    _mm_prefetch(ahead + 64 * line, _MM_HINT_T0);
                ahead += blockCodeBytes(L.bits) + blockScaleBytes(L.scales);
#pragma GCC unroll 2
                for (int half = 0; half < 2; ++half) {
                    // Broadcast activations are read again for the second half rather than kept for it, on the stack.
                    forgetRegisters();
                    const Scales s = loadScales<L.scales>(header, scales, half);
                    const PackedCodes packed{code, half};
                    if constexpr (T <= kAtOnce) {
                        block<T>(packed, s, x, sums[half]);
                    } else {
                        const UnpackedCodes unpacked = unpack(packed);
#pragma GCC unroll 2
                        for (int t = 0; t < T; ++t)
                            block<1>(unpacked, s, x + t, sums[half] + t);
                    }
                }
                x += job.xTokens;
                scales += blockScaleBytes(L.scales);
                code += blockCodeBytes(L.bits);
            }
        }
        for (int t = 0; t < T; ++t)
            for (int half = 0; half < 2; ++half)
                store(job, t, half, sums[half][t]);
    }
};

template <DType kType>
[[gnu::always_inline]] inline __m256 loadWeights(const std::byte* panel, std::ptrdiff_t column, int half)
{
    if constexpr (kType == DType::F32)
        return _mm256_load_ps(reinterpret_cast<const float*>(panel) + column * kRows + half * kHalfRows);
    else if constexpr (kType == DType::F16)
        return loadHalves(panel + column * kRows * 2, half);
    else
        return _mm256_castsi256_ps(
            _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_load_si128(
                                  reinterpret_cast<const __m128i*>(panel + (column * kRows + half * kHalfRows) * 2))),
                              16));
}

// Even and odd columns have a sum each, added at the end, as in matmul_avx512.cpp. 6 rows of x: 12 sums, the weights
// and a broadcast in 16 registers, one half of the 16 rows after the other. Up to 3 rows both halves go together:
// alone, the two chains of one half would wait for the latency of FMA.
template <DType kType>
struct Float {
    static constexpr int kTokens = 6;

    template <int T>
    static void run(const TileJob& job)
    {
        if constexpr (T <= 3) {
            runHalves<T, 2>(job, 0);
        } else {
            runHalves<T, 1>(job, 0);
            runHalves<T, 1>(job, 1);
        }
    }

    template <int T, int kHalves>
    static void runHalves(const TileJob& job, int firstHalf)
    {
        __m256 even[kHalves][T];
        __m256 odd[kHalves][T];
#pragma GCC unroll 2
        for (int half = 0; half < kHalves; ++half)
#pragma GCC unroll 8
            for (int t = 0; t < T; ++t)
                even[half][t] = odd[half][t] = _mm256_setzero_ps();
        const float* x = job.xFloats;
        std::ptrdiff_t k = 0;
        for (; k + 1 < job.cols; k += 2) {
            addColumn<T, kHalves>(job.group, k, firstHalf, x, even);
            addColumn<T, kHalves>(job.group, k + 1, firstHalf, x + job.xTokens, odd);
            x += 2 * job.xTokens;
        }
        if (k < job.cols)
            addColumn<T, kHalves>(job.group, k, firstHalf, x, even);
#pragma GCC unroll 2
        for (int half = 0; half < kHalves; ++half)
#pragma GCC unroll 8
            for (int t = 0; t < T; ++t)
                store(job, t, firstHalf + half, _mm256_add_ps(even[half][t], odd[half][t]));
    }

    template <int T, int kHalves>
    [[gnu::always_inline]] inline static void addColumn(const std::byte* panel, std::ptrdiff_t column, int firstHalf,
                                                        const float* x, __m256 (&sums)[kHalves][T])
    {
#pragma GCC unroll 2
        for (int half = 0; half < kHalves; ++half) {
            const __m256 w = loadWeights<kType>(panel, column, firstHalf + half);
#pragma GCC unroll 8
            for (int t = 0; t < T; ++t)
                sums[half][t] = _mm256_fmadd_ps(w, _mm256_set1_ps(x[t]), sums[half][t]);
        }
    }
};

}  // namespace

const MatmulKernels& avx2MatmulKernels()
{
    static constexpr MatmulKernels kKernels{&quantizeAvx2, &multiplyAny<Quant, Float>, &unpackRowScalar};
    return kKernels;
}

}  // namespace tokenscope::kernels
