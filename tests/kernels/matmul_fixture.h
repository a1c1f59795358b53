// Random weights in any format, packed, and random activations, for the tests and the benchmark of matrix products.
#pragma once

#include "kernels/cpu/matmul.h"
#include "kernels/reference/half.h"

#include <cmath>
#include <cstring>
#include <memory>
#include <new>
#include <random>
#include <vector>

namespace tokenscope::kernels {

inline constexpr DType kAllDTypes[] = {DType::F32,  DType::F16,  DType::BF16, DType::Q4_0, DType::Q4_1,
                                       DType::Q5_0, DType::Q5_1, DType::Q8_0, DType::Q2_K, DType::Q3_K,
                                       DType::Q4_K, DType::Q5_K, DType::Q6_K};

// Where the f16 scales of a block stand, and the largest values the parts of a weight can take.
struct FormatBounds {
    int scaleAt;       // byte of the f16 scale in a block
    int minAt;         // byte of the f16 minimum; −1: none
    double product;    // largest |code − offset| · |scale factor|, to be multiplied with |d|
    double minFactor;  // largest factor of the minimum
};

inline FormatBounds formatBounds(DType type)
{
    switch (type) {
    case DType::Q4_0:
        return {0, -1, 8, 0};
    case DType::Q4_1:
        return {0, 2, 15, 1};
    case DType::Q5_0:
        return {0, -1, 16, 0};
    case DType::Q5_1:
        return {0, 2, 31, 1};
    case DType::Q8_0:
        return {0, -1, 128, 0};
    case DType::Q2_K:
        return {80, 82, 3.0 * 15, 15};
    case DType::Q3_K:
        return {108, -1, 4.0 * 32, 0};
    case DType::Q4_K:
        return {0, 2, 15.0 * 63, 63};
    case DType::Q5_K:
        return {0, 2, 31.0 * 63, 63};
    case DType::Q6_K:
        return {208, -1, 32.0 * 128, 0};
    default:
        return {-1, -1, 0, 0};
    }
}

inline constexpr float kLargestScale = 0.05f;

inline std::vector<std::byte> randomWeights(DType type, int rows, int cols, std::mt19937& random)
{
    std::vector<std::byte> bytes(static_cast<std::size_t>(rows) * rowBytes(type, cols));
    std::uniform_real_distribution<float> uniform(-kLargestScale, kLargestScale);
    if (type == DType::F32) {
        for (std::size_t i = 0; i < bytes.size(); i += 4) {
            const float value = uniform(random);
            std::memcpy(&bytes[i], &value, 4);
        }
        return bytes;
    }
    if (type == DType::F16 || type == DType::BF16) {
        for (std::size_t i = 0; i < bytes.size(); i += 2) {
            const float value = uniform(random);
            const std::uint16_t bits = type == DType::F16 ? f32ToF16(value) : f32ToBf16(value);
            std::memcpy(&bytes[i], &bits, 2);
        }
        return bytes;
    }
    for (std::byte& byte : bytes)
        byte = static_cast<std::byte>(random() & 0xff);
    const FormatBounds bounds = formatBounds(type);
    const auto blockBytes = static_cast<std::size_t>(dtypeInfo(type).blockBytes);
    for (std::size_t block = 0; block < bytes.size(); block += blockBytes) {
        for (int at : {bounds.scaleAt, bounds.minAt}) {
            const std::uint16_t bits = f32ToF16(uniform(random));
            if (at >= 0)
                std::memcpy(&bytes[block + static_cast<std::size_t>(at)], &bits, 2);
        }
    }
    return bytes;
}

struct AlignedDelete {
    void operator()(std::byte* bytes) const { ::operator delete[](bytes, std::align_val_t{64}); }
};
using AlignedBytes = std::unique_ptr<std::byte[], AlignedDelete>;

inline AlignedBytes alignedBytes(std::size_t bytes)
{
    return AlignedBytes(new (std::align_val_t{64}) std::byte[bytes]);
}

struct Packed {
    std::vector<std::byte> source;
    AlignedBytes bytes;
    PackedMatrix matrix;

    Packed(DType type, int rows, int cols, std::mt19937& random)
        : source(randomWeights(type, rows, cols, random)), bytes(alignedBytes(packedBytes(type, rows, cols)))
    {
        const TensorView view{source.data(), type, rows, cols};
        if (packGroups(view, 0, (rows + kGroupRows - 1) / kGroupRows, bytes.get()))
            matrix = packedView(view, bytes.get());
    }
};

// Normal values with an outlier here and there, as activations have them.
inline std::vector<float> randomActivations(int rows, int cols, std::mt19937& random)
{
    std::normal_distribution<float> normal;
    std::vector<float> x(static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols));
    for (float& value : x)
        value = normal(random) * (random() % 64 == 0 ? 20.0f : 1.0f);
    return x;
}

struct QuantizedRows {
    AlignedBytes bytes;
    Activations activations;

    QuantizedRows(const MatmulKernels& kernels, const float* x, int rows, int cols, std::ptrdiff_t stride)
        : bytes(alignedBytes(activationBytes(rows, cols)))
    {
        activations = {rows, cols, bytes.get(), activationBytes(rows, cols)};
        kernels.quantize(x, stride, 0, rows, true, activations);
    }
};

}  // namespace tokenscope::kernels
