// A model's weights in the CPU's layout: one huge-page arena, tensors in the order a step reads them, a tied head held
// once. Norm weights and biases as f32.
#pragma once

#include "kernels/backend.h"
#include "kernels/cpu/arena.h"
#include "kernels/cpu/matmul.h"
#include "kernels/cpu/rope.h"
#include "kernels/cpu/thread_pool.h"

#include <cstddef>
#include <string>
#include <vector>

namespace tokenscope::kernels {

struct PackedLayer {
    PackedMatrix q, k, v, attnOutput, gate, up, down;
    const float* attnNorm = nullptr;  // [embedding]; vectors the model does not have stay null
    const float* ffnNorm = nullptr;
    const float* postAttnNorm = nullptr;
    const float* postFfnNorm = nullptr;
    const float* qBias = nullptr;
    const float* kBias = nullptr;
    const float* vBias = nullptr;
    const float* qNorm = nullptr;
    const float* kNorm = nullptr;
    int rope = 0;  // index into PackedModel::ropes
    int window = 0;
};

struct PackedModel {
    std::string name;
    int embedding = 0;
    int feedForward = 0;
    int heads = 0;
    int kvHeads = 0;
    int headDimK = 0;
    int headDimV = 0;
    int vocabulary = 0;
    float normEpsilon = 0.0f;
    float attentionScale = 0.0f;
    float attentionSoftcap = 0.0f;
    float embeddingScale = 1.0f;
    float finalSoftcap = 0.0f;
    Activation activation = Activation::Silu;

    Arena arena;
    PackedMatrix tokenEmbedding;
    PackedMatrix head;  // the same bytes as tokenEmbedding where tied
    const float* outputNorm = nullptr;
    std::vector<PackedLayer> layers;
    std::vector<RopeTable> ropes;  // the distinct ones

    int queryCols() const { return heads * headDimK; }
    int keyCols() const { return kvHeads * headDimK; }
    int valueCols() const { return kvHeads * headDimV; }
    int qkvCols() const { return queryCols() + keyCols() + valueCols(); }
    int attentionCols() const { return heads * headDimV; }
};

// Bytes of the arena, known without reading tensor data.
std::size_t packedModelBytes(const LayerProgram& program);

// Packs with all threads of the pool. BadWeights naming the tensor, OutOfMemory, Cancelled.
KernelResult<PackedModel> packModel(const LayerProgram& program, const LoadOptions& options,
                                    const MatmulKernels& matmul, ThreadPool& pool);

}  // namespace tokenscope::kernels
