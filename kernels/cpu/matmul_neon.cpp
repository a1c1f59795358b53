// Matrix products with NEON's dot products, on the layout that AVX-512 reads, 4 rows (a quarter of a vector) at a time.
//
// sdot multiplies four signed codes of each of 4 rows by four activations and adds the sums to 32-bit integers. Codes
// of up to 6 bits are positive as signed bytes too; those of 8 bits have their offset taken away first. The same float
// operations in the same order as AVX-512, so the same bits.
#include "kernels/cpu/matmul_driver.h"
#include "kernels/cpu/matmul_kernels.h"

#include <arm_neon.h>

namespace tokenscope::kernels {
namespace {

using namespace layout;

constexpr int kQuarters = 4;
constexpr int kQuarterRows = kRows / kQuarters;
constexpr int kQuarterBytes = kVectorBytes / kQuarters;

[[gnu::always_inline]] inline float32x4_t loadHalves(const std::byte* place, int quarter)
{
    const auto* halves = reinterpret_cast<const std::uint16_t*>(place) + quarter * kQuarterRows;
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(halves)));
}
[[gnu::always_inline]] inline uint32x4_t loadBytes(const std::byte* place, int quarter)  // 4 unsigned bytes to lanes
{
    std::uint32_t four;
    __builtin_memcpy(&four, place + quarter * kQuarterRows, 4);
    return vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(four))));
}
[[gnu::always_inline]] inline int32x4_t loadSignedBytes(const std::byte* place, int quarter)
{
    std::uint32_t four;
    __builtin_memcpy(&four, place + quarter * kQuarterRows, 4);
    return vmovl_s16(vget_low_s16(vmovl_s8(vcreate_s8(four))));
}
[[gnu::always_inline]] inline uint8x16_t loadVector(const std::byte* block, int index, int quarter)
{
    return vld1q_u8(reinterpret_cast<const std::uint8_t*>(block) + index * kVectorBytes + quarter * kQuarterBytes);
}
template <int kLeft>
[[gnu::always_inline]] inline uint8x16_t shift(uint8x16_t v)
{
    if constexpr (kLeft > 0)
        return vshlq_n_u8(v, kLeft);
    else if constexpr (kLeft < 0)
        return vshrq_n_u8(v, -kLeft);
    else
        return v;
}
template <int kLeft>
[[gnu::always_inline]] inline uint8x16_t shiftedBits(uint8x16_t v, std::uint8_t mask)
{
    return vandq_u8(shift<kLeft>(v), vdupq_n_u8(mask));
}

// Code vector j of a quarter of a block; 8-bit codes come without their offset.
template <int kBits, int j>
[[gnu::always_inline]] inline int8x16_t codes(const std::byte* block, int quarter)
{
    if constexpr (kBits == 8)
        return vreinterpretq_s8_u8(veorq_u8(loadVector(block, j, quarter), vdupq_n_u8(0x80)));
    uint8x16_t code;
    if constexpr (kBits >= 4)
        code = shiftedBits < j<4 ? 0 : -4>(loadVector(block, j % 4, quarter), 0x0f);
    else
        code = shiftedBits<-2 * (j % 4)>(loadVector(block, j / 4, quarter), 0x03);
    if constexpr (kBits == 5)
        code = vorrq_u8(code, shiftedBits<4 - j>(loadVector(block, 4, quarter), 0x10));
    else if constexpr (kBits == 3)
        code = vorrq_u8(code, shiftedBits<2 - j>(loadVector(block, 2, quarter), 0x04));
    else if constexpr (kBits == 6)
        code = vorrq_u8(code, shiftedBits<4 - 2 * (j % 4)>(loadVector(block, 4 + j / 4, quarter), 0x30));
    return vreinterpretq_s8_u8(code);
}

// Scales of 4 of a block's 16 rows, as f32: [0] of all 32 columns or the first 16, [1] of the second 16.
struct Scales {
    float32x4_t d[2];
    float32x4_t min[2];
};

template <ScaleKind kKind>
[[gnu::always_inline]] inline Scales loadScales(const std::byte* header, const std::byte* block, int quarter)
{
    Scales s{};
    if constexpr (kKind == ScaleKind::Half) {
        s.d[0] = loadHalves(block, quarter);
    } else if constexpr (kKind == ScaleKind::HalfMin) {
        s.d[0] = loadHalves(block, quarter);
        s.min[0] = loadHalves(block + 2 * kRows, quarter);
    } else if constexpr (kKind == ScaleKind::SuperMin) {
        const float32x4_t negMin = vnegq_f32(loadHalves(header + 2 * kRows, quarter));
        s.d[0] = vmulq_f32(loadHalves(header, quarter), vcvtq_f32_u32(loadBytes(block, quarter)));
        s.min[0] = vmulq_f32(negMin, vcvtq_f32_u32(loadBytes(block + kRows, quarter)));
    } else if constexpr (kKind == ScaleKind::SuperPair) {
        const float32x4_t d = loadHalves(header, quarter);
        s.d[0] = vmulq_f32(d, vcvtq_f32_s32(loadSignedBytes(block, quarter)));
        s.d[1] = vmulq_f32(d, vcvtq_f32_s32(loadSignedBytes(block + kRows, quarter)));
    } else {
        const float32x4_t d = loadHalves(header, quarter);
        const float32x4_t min = loadHalves(header + 2 * kRows, quarter);  // positive: multiplied with negative sums
        for (int part = 0; part < 2; ++part) {
            const uint32x4_t both = loadBytes(block + part * kRows, quarter);
            s.d[part] = vmulq_f32(d, vcvtq_f32_u32(vandq_u32(both, vdupq_n_u32(15))));
            s.min[part] = vmulq_f32(min, vcvtq_f32_u32(vshrq_n_u32(both, 4)));
        }
    }
    return s;
}

[[gnu::always_inline]] inline void store(const TileJob& job, int token, int quarter, float32x4_t sum)
{
    float* out = job.out + token * job.outStride + quarter * kQuarterRows;
    const int rows = job.rows - quarter * kQuarterRows;
    if (rows >= kQuarterRows) {
        if (job.accumulate)
            sum = vaddq_f32(vld1q_f32(out), sum);
        vst1q_f32(out, sum);
        return;
    }
    float sums[kQuarterRows];
    vst1q_f32(sums, sum);
    for (int row = 0; row < rows; ++row)
        out[row] = job.accumulate ? out[row] + sums[row] : sums[row];
}

template <QuantLayout L>
struct Quant {
    static constexpr int kTokens = 8;

    // Σ code · q over code vectors 4 half … 4 half + 3, whose 16 activations are `x`, added to `dot`.
    template <int half>
    [[gnu::always_inline]] inline static int32x4_t addProducts(int32x4_t dot, const int8x16_t (&w)[kCodeVectors],
                                                               int8x16_t x)
    {
        dot = vdotq_laneq_s32(dot, w[4 * half], x, 0);
        dot = vdotq_laneq_s32(dot, w[4 * half + 1], x, 1);
        dot = vdotq_laneq_s32(dot, w[4 * half + 2], x, 2);
        return vdotq_laneq_s32(dot, w[4 * half + 3], x, 3);
    }

    // The offset's share of a dot product, −(Σq · offset), or nothing.
    [[gnu::always_inline]] inline static int32x4_t startSum(std::int32_t negSum)
    {
        if constexpr (L.offsetShift < 0 || L.bits == 8)
            return vdupq_n_s32(0);
        else
            return vdupq_n_s32(negSum * (1 << L.offsetShift));
    }

    // A quarter of a block times one row of x; the order of float operations is stated in matmul_avx512.cpp.
    [[gnu::always_inline]] inline static float32x4_t block(const int8x16_t (&w)[kCodeVectors], const Scales& s,
                                                           const ActivationBlock& a, float32x4_t sum)
    {
        const int8x16_t x[2] = {vld1q_s8(a.q), vld1q_s8(a.q + 16)};
        const auto addDot = [&](int32x4_t dot, float32x4_t d) {
            sum = vfmaq_f32(sum, vmulq_n_f32(vcvtq_f32_s32(dot), a.scale), d);
        };
        if constexpr (!hasPair(L.scales)) {
            addDot(addProducts<1>(addProducts<0>(startSum(a.negSum), w, x[0]), w, x[1]), s.d[0]);
            if constexpr (hasMinimum(L.scales))
                sum = vfmaq_n_f32(sum, s.min[0], a.scaledSum);
        } else {
            const std::int32_t first = a.negHalfSum;
            const std::int32_t second = a.negSum - a.negHalfSum;
            addDot(addProducts<0>(startSum(first), w, x[0]), s.d[0]);
            addDot(addProducts<1>(startSum(second), w, x[1]), s.d[1]);
            if constexpr (hasMinimum(L.scales)) {
                sum = vfmaq_n_f32(sum, s.min[0], static_cast<float>(first) * a.scale);
                sum = vfmaq_n_f32(sum, s.min[1], static_cast<float>(second) * a.scale);
            }
        }
        return sum;
    }

    // Sums stay in memory: the sums of 4 quarters do not fit in 32 registers beside 8 code vectors, 2 of activations
    // and the scales, and unrolled over quarters the compiler keeps code vectors on the stack instead.
    template <int T>
    static void run(const TileJob& job)
    {
        constexpr int kUnit = isSuper(L.scales) ? kSuperBlocks : 1;
        const std::byte* scales = job.group;
        const std::byte* code = job.group + scalePlaneBytes<L>(job.cols);
        const ActivationBlock* x = job.x;
        float32x4_t sums[kQuarters][T];
        for (auto& quarter : sums)
            for (float32x4_t& sum : quarter)
                sum = vdupq_n_f32(0.0f);

        for (int unit = job.cols / (kBlock * kUnit); unit > 0; --unit) {
            const std::byte* header = scales;
            scales += superHeaderBytes(L.scales);
            for (int b = 0; b < kUnit; ++b) {
#pragma GCC unroll 1
                for (int quarter = 0; quarter < kQuarters; ++quarter) {
                    const Scales s = loadScales<L.scales>(header, scales, quarter);
                    const int8x16_t w[kCodeVectors] = {
                        codes<L.bits, 0>(code, quarter), codes<L.bits, 1>(code, quarter),
                        codes<L.bits, 2>(code, quarter), codes<L.bits, 3>(code, quarter),
                        codes<L.bits, 4>(code, quarter), codes<L.bits, 5>(code, quarter),
                        codes<L.bits, 6>(code, quarter), codes<L.bits, 7>(code, quarter)};
#pragma GCC unroll 2
                    for (int t = 0; t < T; ++t)
                        sums[quarter][t] = block(w, s, x[t], sums[quarter][t]);
                }
                x += job.xTokens;
                scales += blockScaleBytes(L.scales);
                code += blockCodeBytes(L.bits);
            }
        }
        for (int t = 0; t < T; ++t)
            for (int quarter = 0; quarter < kQuarters; ++quarter)
                store(job, t, quarter, sums[quarter][t]);
    }
};

template <DType kType>
[[gnu::always_inline]] inline float32x4_t loadWeights(const std::byte* panel, std::ptrdiff_t column, int quarter)
{
    const std::ptrdiff_t index = column * kRows + quarter * kQuarterRows;
    if constexpr (kType == DType::F32)
        return vld1q_f32(reinterpret_cast<const float*>(panel) + index);
    else if constexpr (kType == DType::F16)
        return loadHalves(panel + column * kRows * 2, quarter);
    else
        return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(reinterpret_cast<const std::uint16_t*>(panel) + index), 16));
}

// Even and odd columns have a sum each, added at the end, as in matmul_avx512.cpp. One half of the 16 rows after the
// other: 16 sums for 4 rows of x.
template <DType kType>
struct Float {
    static constexpr int kTokens = 4;
    static constexpr int kAtOnce = 2;  // quarters

    template <int T>
    static void run(const TileJob& job)
    {
        for (int quarter = 0; quarter < kQuarters; quarter += kAtOnce)
            runQuarters<T>(job, quarter);
    }

    template <int T>
    static void runQuarters(const TileJob& job, int firstQuarter)
    {
        float32x4_t sums[2][kAtOnce][T];  // of even and odd columns
        for (auto& columns : sums)
            for (auto& quarter : columns)
                for (float32x4_t& sum : quarter)
                    sum = vdupq_n_f32(0.0f);
        const float* x = job.xFloats;
        std::ptrdiff_t k = 0;
        for (; k + 1 < job.cols; k += 2) {
            addColumn<T>(job.group, k, firstQuarter, x, sums[0]);
            addColumn<T>(job.group, k + 1, firstQuarter, x + job.xTokens, sums[1]);
            x += 2 * job.xTokens;
        }
        if (k < job.cols)
            addColumn<T>(job.group, k, firstQuarter, x, sums[0]);
#pragma GCC unroll 2
        for (int quarter = 0; quarter < kAtOnce; ++quarter)
#pragma GCC unroll 4
            for (int t = 0; t < T; ++t)
                store(job, t, firstQuarter + quarter, vaddq_f32(sums[0][quarter][t], sums[1][quarter][t]));
    }

    template <int T>
    [[gnu::always_inline]] inline static void addColumn(const std::byte* panel, std::ptrdiff_t column, int firstQuarter,
                                                        const float* x, float32x4_t (&sums)[kAtOnce][T])
    {
#pragma GCC unroll 2
        for (int quarter = 0; quarter < kAtOnce; ++quarter) {
            const float32x4_t w = loadWeights<kType>(panel, column, firstQuarter + quarter);
#pragma GCC unroll 4
            for (int t = 0; t < T; ++t)
                sums[quarter][t] = vfmaq_n_f32(sums[quarter][t], w, x[t]);
        }
    }
};

}  // namespace

const MatmulKernels& neonMatmulKernels()
{
    static constexpr MatmulKernels kKernels{&quantizeNeon, &multiplyAny<Quant, Float>, &unpackRowScalar};
    return kKernels;
}

}  // namespace tokenscope::kernels
