// A model's weights as f32, dequantised once at load: the oracle spends memory (4 bytes a weight, whatever the file
// has) to stay plain.
#pragma once

#include "kernels/backend.h"

#include <memory>
#include <span>
#include <vector>

namespace tokenscope::kernels {

// Row-major f32. Absent where the model has no such tensor.
struct FloatMatrix {
    std::unique_ptr<float[]> values;
    int rows = 0;
    int cols = 0;

    explicit operator bool() const { return values != nullptr; }
    std::span<const float> row(int index) const
    {
        return {values.get() + static_cast<std::size_t>(index) * static_cast<std::size_t>(cols),
                static_cast<std::size_t>(cols)};
    }
};

struct FloatLayer {
    FloatMatrix attnNorm, q, k, v, qBias, kBias, vBias, qNorm, kNorm, attnOutput, postAttnNorm;
    FloatMatrix ffnNorm, gate, up, down, postFfnNorm;
    std::vector<double> ropeFrequencies;
};

struct FloatWeights {
    FloatMatrix tokenEmbedding, outputNorm, ownHead;  // ownHead is absent where the head is tied
    std::vector<FloatLayer> layers;

    const FloatMatrix& head() const { return ownHead ? ownHead : tokenEmbedding; }
};

// Bytes loadWeights will take.
std::size_t floatWeightBytes(const LayerProgram& program);

// OutOfMemory, Cancelled, or BadWeights naming the tensor and row that holds an infinity or NaN.
KernelResult<FloatWeights> loadWeights(const LayerProgram& program, const LoadOptions& options);

}  // namespace tokenscope::kernels
