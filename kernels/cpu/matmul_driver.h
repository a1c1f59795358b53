// The loops around the inner kernels, the same for every instruction set: activation tiles, in them groups of 16 weight
// rows, in them register tiles. Private to the matmul files. In an anonymous namespace, because the files compiled for
// one instruction set include it.
//
// Activation tiles are outside, so that the 16 rows of activations stay in the first-level cache while the weights pass
// through; one group of weights stays there for the register tiles of an activation tile.
#pragma once

#include "kernels/cpu/matmul.h"
#include "kernels/cpu/matmul_dispatch.h"

namespace tokenscope::kernels {
namespace {

// One group of weights times some rows of one activation tile.
struct TileJob {
    const std::byte* group;
    int cols;
    const layout::ActivationBlock* x;  // block 0 of the first row; the next block is xTokens further
    const float* xFloats;              // column 0 of the first row; the next column is xTokens further
    int xTokens;                       // rows of the whole activation tile
    float* out;                        // of the first row of x and the first row of the group
    std::ptrdiff_t outStride;
    int rows;  // of the group that exist: the others are padding and are not stored
    bool accumulate;
};

constexpr int kMaxTokens = 16;  // largest register tile any instruction set asks for: a whole activation tile

// Kernel::run<tokens>(job) for tokens of 1 … Kernel::kTokens.
template <typename Kernel, int kTokens = Kernel::kTokens>
inline void runTokens(const TileJob& job, int tokens)
{
    if (tokens == kTokens)
        Kernel::template run<kTokens>(job);
    else if constexpr (kTokens > 1)
        runTokens<Kernel, kTokens - 1>(job, tokens);
}

template <typename Kernel>
inline void multiply(const PackedMatrix& weights, int groupBegin, int groupEnd, const Activations& x, float* out,
                     std::ptrdiff_t outStride, bool accumulate)
{
    using namespace layout;
    const std::size_t blocks = static_cast<std::size_t>(weights.cols / kBlock);
    const auto* quantized = reinterpret_cast<const ActivationBlock*>(x.data);
    const auto* floats = floatActivations(x);
    for (int first = 0; first < x.rows; first += kTileRows) {
        const int tileRows = x.rows - first < kTileRows ? x.rows - first : kTileRows;
        const int pieces = (tileRows + Kernel::kTokens - 1) / Kernel::kTokens;
        for (int group = groupBegin; group < groupEnd; ++group) {
            const int row = group * kRows;
            TileJob job{};
            job.group = weights.data + static_cast<std::size_t>(group) * weights.groupBytes;
            job.cols = weights.cols;
            job.xTokens = tileRows;
            job.outStride = outStride;
            job.rows = weights.rows - row < kRows ? weights.rows - row : kRows;
            job.accumulate = accumulate;
            // Even pieces: 9 rows as 5 + 4 take less than 8 + 1, whose second pass unpacks weights for a single row.
            for (int piece = 0; piece < pieces; ++piece) {
                const int begin = tileRows * piece / pieces;
                const int end = tileRows * (piece + 1) / pieces;
                job.x = quantized + static_cast<std::size_t>(first) * blocks + begin;
                job.xFloats = floats + static_cast<std::size_t>(first) * static_cast<std::size_t>(weights.cols) + begin;
                job.out = out + (first + begin) * outStride + row;
                runTokens<Kernel>(job, end - begin);
            }
        }
    }
}

// Quant<L> and Float<type> are an instruction set's kernels.
template <template <layout::QuantLayout> typename Quant, template <DType> typename Float>
void multiplyAny(const PackedMatrix& weights, int groupBegin, int groupEnd, const Activations& x, float* out,
                 std::ptrdiff_t outStride, bool accumulate)
{
    if (weights.type == DType::F32)
        multiply<Float<DType::F32>>(weights, groupBegin, groupEnd, x, out, outStride, accumulate);
    else if (weights.type == DType::F16)
        multiply<Float<DType::F16>>(weights, groupBegin, groupEnd, x, out, outStride, accumulate);
    else if (weights.type == DType::BF16)
        multiply<Float<DType::BF16>>(weights, groupBegin, groupEnd, x, out, outStride, accumulate);
    else
        withLayout(weights.type, [&]<layout::QuantLayout L>() {
            multiply<Quant<L>>(weights, groupBegin, groupEnd, x, out, outStride, accumulate);
        });
}

}  // namespace
}  // namespace tokenscope::kernels
