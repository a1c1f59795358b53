// Matrix products for processors without vector kernels, and the plain twin that those equal bit for bit: the same
// integer sums, then the same float operations in the same order. std::fma is exact but slow where the processor has no
// FMA.
#include "kernels/cpu/matmul_driver.h"
#include "kernels/cpu/matmul_kernels.h"
#include "kernels/cpu/matmul_quantize.h"
#include "kernels/reference/half.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace tokenscope::kernels {
namespace {

using namespace layout;

float readHalf(const std::byte* place, int row)
{
    std::uint16_t bits;
    std::memcpy(&bits, place + 2 * row, 2);
    return f16ToF32(bits);
}

// codes[row][column] of a block of 16 rows.
template <int kBits>
void unpack(const std::byte* block, std::uint8_t (&codes)[kRows][kBlock])
{
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(block);
    for (int j = 0; j < kCodeVectors; ++j) {
        for (int i = 0; i < kVectorBytes; ++i) {
            const auto at = [&](int vector) { return static_cast<int>(bytes[vector * kVectorBytes + i]); };
            int code = 0;
            if constexpr (kBits == 8)
                code = at(j);
            else if constexpr (kBits >= 4)
                code = at(j % 4) >> (j < 4 ? 0 : 4) & 0x0f;
            else
                code = at(j / 4) >> 2 * (j % 4) & 3;
            if constexpr (kBits == 5)
                code |= (at(4) >> j & 1) << 4;
            else if constexpr (kBits == 3)
                code |= (at(2) >> j & 1) << 2;
            else if constexpr (kBits == 6)
                code |= (at(4 + j / 4) >> 2 * (j % 4) & 3) << 4;
            codes[i / 4][4 * j + i % 4] = static_cast<std::uint8_t>(code);
        }
    }
}

// Scales of a block in one row: [0] of all 32 columns or the first 16, [1] of the second 16.
struct Scales {
    float d[2] = {0.0f, 0.0f};
    float min[2] = {0.0f, 0.0f};
};

template <ScaleKind kKind>
Scales loadScales(const std::byte* header, const std::byte* block, int row)
{
    Scales s;
    const int bytes[2] = {std::to_integer<int>(block[row]), std::to_integer<int>(block[kRows + row])};
    if constexpr (kKind == ScaleKind::Half) {
        s.d[0] = readHalf(block, row);
    } else if constexpr (kKind == ScaleKind::HalfMin) {
        s.d[0] = readHalf(block, row);
        s.min[0] = readHalf(block + 2 * kRows, row);
    } else if constexpr (kKind == ScaleKind::SuperMin) {
        s.d[0] = readHalf(header, row) * static_cast<float>(bytes[0]);
        s.min[0] = -readHalf(header + 2 * kRows, row) * static_cast<float>(bytes[1]);
    } else if constexpr (kKind == ScaleKind::SuperPair) {
        for (int half = 0; half < 2; ++half)
            s.d[half] = readHalf(header, row) * static_cast<float>(static_cast<std::int8_t>(bytes[half]));
    } else {
        for (int half = 0; half < 2; ++half) {
            s.d[half] = readHalf(header, row) * static_cast<float>(bytes[half] & 15);
            s.min[half] = readHalf(header + 2 * kRows, row) * static_cast<float>(bytes[half] >> 4);
        }
    }
    return s;
}

template <QuantLayout L>
float addBlock(const std::uint8_t (&codes)[kBlock], const Scales& s, const ActivationBlock& a, float sum)
{
    constexpr int kOffset = L.offsetShift < 0 ? 0 : 1 << L.offsetShift;
    const auto dot = [&](int begin, int end, std::int32_t negSum) {
        std::int32_t total = negSum * kOffset;
        for (int k = begin; k < end; ++k)
            total += codes[k] * a.q[k];
        return static_cast<float>(total);
    };
    if constexpr (!hasPair(L.scales)) {
        sum = std::fma(dot(0, 32, a.negSum) * a.scale, s.d[0], sum);
        if constexpr (hasMinimum(L.scales))
            sum = std::fma(s.min[0], a.scaledSum, sum);
    } else {
        const std::int32_t first = a.negHalfSum;
        const std::int32_t second = a.negSum - a.negHalfSum;
        sum = std::fma(dot(0, 16, first) * a.scale, s.d[0], sum);
        sum = std::fma(dot(16, 32, second) * a.scale, s.d[1], sum);
        if constexpr (hasMinimum(L.scales)) {
            sum = std::fma(s.min[0], static_cast<float>(first) * a.scale, sum);
            sum = std::fma(s.min[1], static_cast<float>(second) * a.scale, sum);
        }
    }
    return sum;
}

void store(const TileJob& job, int tokens, const float (&sums)[kMaxTokens][kRows])
{
    for (int t = 0; t < tokens; ++t) {
        float* out = job.out + t * job.outStride;
        for (int row = 0; row < job.rows; ++row)
            out[row] = job.accumulate ? out[row] + sums[t][row] : sums[t][row];
    }
}

template <QuantLayout L>
struct Quant {
    static constexpr int kTokens = 8;

    template <int T>
    static void run(const TileJob& job)
    {
        run(job, T);
    }

    static void run(const TileJob& job, int tokens)
    {
        float sums[kMaxTokens][kRows] = {};
        std::uint8_t codes[kRows][kBlock];
        const std::byte* code = job.group + scalePlaneBytes<L>(job.cols);
        const ActivationBlock* x = job.x;
        for (int b = 0; b < job.cols / kBlock; ++b) {
            unpack<L.bits>(code, codes);
            const std::byte* header = job.group + (isSuper(L.scales) ? superOffset<L>(b / kSuperBlocks) : 0);
            for (int row = 0; row < kRows; ++row) {
                const Scales s = loadScales<L.scales>(header, job.group + blockScaleOffset<L>(b), row);
                for (int t = 0; t < tokens; ++t)
                    sums[t][row] = addBlock<L>(codes[row], s, x[t], sums[t][row]);
            }
            x += job.xTokens;
            code += blockCodeBytes(L.bits);
        }
        store(job, tokens, sums);
    }
};

template <DType kType>
float weightAt(const std::byte* panel, std::ptrdiff_t index)
{
    if constexpr (kType == DType::F32) {
        float value;
        std::memcpy(&value, panel + 4 * index, 4);
        return value;
    } else {
        std::uint16_t bits;
        std::memcpy(&bits, panel + 2 * index, 2);
        return kType == DType::F16 ? f16ToF32(bits) : bf16ToF32(bits);
    }
}

template <DType kType>
struct Float {
    static constexpr int kTokens = 8;

    template <int T>
    static void run(const TileJob& job)
    {
        run(job, T);
    }

    static void run(const TileJob& job, int tokens)
    {
        float even[kMaxTokens][kRows] = {};
        float odd[kMaxTokens][kRows] = {};
        for (std::ptrdiff_t k = 0; k < job.cols; ++k) {
            auto& sums = k % 2 == 0 ? even : odd;
            for (int row = 0; row < kRows; ++row) {
                const float w = weightAt<kType>(job.group, k * kRows + row);
                for (int t = 0; t < tokens; ++t)
                    sums[t][row] = std::fma(w, job.xFloats[k * job.xTokens + t], sums[t][row]);
            }
        }
        for (int t = 0; t < tokens; ++t)
            for (int row = 0; row < kRows; ++row)
                even[t][row] += odd[t][row];
        store(job, tokens, even);
    }
};

// q = round(x · 127 / max), ties to even; scale = max / 127.
void quantizeBlock(const float* x, ActivationBlock& out)
{
    std::uint32_t maxBits = 0;
    for (int k = 0; k < kBlock; ++k) {
        const std::uint32_t bits = std::bit_cast<std::uint32_t>(x[k]) & 0x7fffffffu;
        maxBits = bits > maxBits ? bits : maxBits;
    }
    float inverse = 0.0f;
    out.scale = blockScale(maxBits, inverse);
    if (inverse == 0.0f) {
        setWithoutValues(out);
        return;
    }
    std::int32_t sums[2] = {0, 0};
    for (int k = 0; k < kBlock; ++k) {
        // Adding 1.5 · 2^23 leaves the rounded integer in the lowest bits of the sum, whatever the library.
        const float shifted = x[k] * inverse + 12582912.0f;
        const std::int32_t q = std::bit_cast<std::int32_t>(shifted) - 0x4b400000;
        out.q[k] = static_cast<std::int8_t>(q);
        sums[k / 16] += q;
    }
    setSums(out, sums[0], sums[1]);
}

void quantizeScalar(const float* x, std::ptrdiff_t xStride, int rowBegin, int rowEnd, bool forFloatWeights,
                    Activations& activations)
{
    quantizeRows(&quantizeBlock, x, xStride, rowBegin, rowEnd, forFloatWeights, activations);
}

}  // namespace

const MatmulKernels& scalarMatmulKernels()
{
    static constexpr MatmulKernels kKernels{&quantizeScalar, &multiplyAny<Quant, Float>, &unpackRowScalar};
    return kKernels;
}

}  // namespace tokenscope::kernels
