#include "tests/support/tiny_program.h"

#include <cmath>

namespace tokenscope::test {

using kernels::LayerSpec;
using kernels::TensorView;

TinyProgram::TinyProgram(const TinyShape& shape, std::uint32_t seed) : m_random(seed)
{
    program.name = "tiny";
    program.embedding = shape.embedding;
    program.feedForward = shape.feedForward;
    program.heads = shape.heads;
    program.kvHeads = shape.kvHeads;
    program.headDimK = shape.headDimK;
    program.headDimV = shape.headDimV;
    program.vocabulary = shape.vocabulary;
    program.attentionScale = 1.0f / std::sqrt(static_cast<float>(shape.headDimK));
    program.attentionSoftcap = shape.attentionSoftcap;
    program.finalSoftcap = shape.finalSoftcap;
    program.activation = shape.activation;
    program.tokenEmbedding = matrix(shape.vocabulary, shape.embedding, 1.0f);
    program.outputNorm = matrix(1, shape.embedding, 0.2f, 1.0f);
    program.tiedHead = shape.tiedHead;
    program.head = shape.tiedHead ? program.tokenEmbedding : matrix(shape.vocabulary, shape.embedding, 1.0f);

    const auto optional = [&](bool present, int cols, float middle) {
        return present ? matrix(1, cols, 0.2f, middle) : TensorView{};
    };
    for (int i = 0; i < shape.layers; ++i) {
        LayerSpec layer;
        layer.attnNorm = matrix(1, shape.embedding, 0.2f, 1.0f);
        layer.q = matrix(shape.heads * shape.headDimK, shape.embedding, 0.4f);
        layer.k = matrix(shape.kvHeads * shape.headDimK, shape.embedding, 0.4f);
        layer.v = matrix(shape.kvHeads * shape.headDimV, shape.embedding, 0.4f);
        layer.qBias = optional(shape.biases, shape.heads * shape.headDimK, 0.0f);
        layer.kBias = optional(shape.biases, shape.kvHeads * shape.headDimK, 0.0f);
        layer.vBias = optional(shape.biases, shape.kvHeads * shape.headDimV, 0.0f);
        layer.qNorm = optional(shape.headNorms, shape.headDimK, 1.0f);
        layer.kNorm = optional(shape.headNorms, shape.headDimK, 1.0f);
        layer.attnOutput = matrix(shape.embedding, shape.heads * shape.headDimV, 0.3f);
        layer.postAttnNorm = optional(shape.postNorms, shape.embedding, 1.0f);
        layer.ffnNorm = matrix(1, shape.embedding, 0.2f, 1.0f);
        layer.gate = matrix(shape.feedForward, shape.embedding, 0.3f);
        layer.up = matrix(shape.feedForward, shape.embedding, 0.3f);
        layer.down = matrix(shape.embedding, shape.feedForward, 0.3f);
        layer.postFfnNorm = optional(shape.postNorms, shape.embedding, 1.0f);
        layer.rope.pairing = shape.pairing;
        layer.rope.dims = shape.headDimK;
        layer.window = i % 2 == 0 ? shape.window : 0;
        program.layers.push_back(layer);
    }
}

// Evenly spread in middle ± spread, the same on every machine.
TensorView TinyProgram::matrix(int rows, int cols, float spread, float middle)
{
    std::vector<float>& values = m_storage.emplace_back();
    for (int i = 0; i < rows * cols; ++i) {
        const auto unit = static_cast<float>(m_random() >> 8) * 0x1p-24f;  // 0 … 1
        values.push_back(middle + spread * (2.0f * unit - 1.0f));
    }
    return {reinterpret_cast<const std::byte*>(values.data()), kernels::DType::F32, rows, cols};
}

float* TinyProgram::values(const TensorView& view)
{
    for (std::vector<float>& values : m_storage)
        if (reinterpret_cast<const std::byte*>(values.data()) == view.data)
            return values.data();
    return nullptr;
}

}  // namespace tokenscope::test
