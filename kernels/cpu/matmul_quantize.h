// What the versions of quantising share. Private to the matmul files, in an anonymous namespace, because files compiled
// for AVX2 include it.
#pragma once

#include "kernels/cpu/matmul_dispatch.h"

namespace tokenscope::kernels {
namespace {

// Below this the inverse scale would overflow f32; no activation of a working model is near it.
constexpr float kSmallestMaximum = 1e-36f;
constexpr std::uint32_t kInfinityBits = 0x7f800000u;

// The scale of a block whose largest magnitude has these bits, and what its values are multiplied with. Zero (or next
// to it): scale 0, inverse 0. Infinite or NaN: scale NaN and inverse 0, so that every product with the block is NaN and
// the step fails instead of going on with a wrong number. Magnitudes are compared as integers, in which NaN > infinity.
inline float blockScale(std::uint32_t maxBits, float& inverse)
{
    float max;
    __builtin_memcpy(&max, &maxBits, 4);
    inverse = 0.0f;
    if (maxBits >= kInfinityBits)
        return __builtin_nanf("");
    if (max < kSmallestMaximum)
        return 0.0f;
    inverse = 127.0f / max;
    return max / 127.0f;
}

inline void setSums(layout::ActivationBlock& block, std::int32_t firstHalf, std::int32_t secondHalf)
{
    block.scaledSum = block.scale * static_cast<float>(firstHalf + secondHalf);
    block.negSum = -(firstHalf + secondHalf);
    block.negHalfSum = -firstHalf;
}

inline void setWithoutValues(layout::ActivationBlock& block)
{
    __builtin_memset(block.q, 0, sizeof block.q);
    setSums(block, 0, 0);
}

template <typename QuantizeBlock>
inline void quantizeRows(QuantizeBlock quantizeBlock, const float* x, std::ptrdiff_t xStride, int rowBegin, int rowEnd,
                         bool forFloatWeights, Activations& activations)
{
    using namespace layout;
    const int cols = activations.cols;
    const int blocks = cols / kBlock;
    auto* quantized = reinterpret_cast<ActivationBlock*>(activations.data);
    float* floats = floatActivations(activations);
    for (int row = rowBegin; row < rowEnd; ++row) {
        const float* values = x + row * xStride;
        const int tileFirst = row / kTileRows * kTileRows;
        const int tileRows = activations.rows - tileFirst < kTileRows ? activations.rows - tileFirst : kTileRows;
        if (cols % kBlock == 0) {
            ActivationBlock* out = quantized + static_cast<std::ptrdiff_t>(tileFirst) * blocks + (row - tileFirst);
            for (int block = 0; block < blocks; ++block)
                quantizeBlock(values + block * kBlock, out[block * tileRows]);
        }
        if (forFloatWeights) {
            float* out = floats + static_cast<std::ptrdiff_t>(tileFirst) * cols + (row - tileFirst);
            for (int k = 0; k < cols; ++k)
                out[static_cast<std::ptrdiff_t>(k) * tileRows] = values[k];
        }
    }
}

}  // namespace
}  // namespace tokenscope::kernels
