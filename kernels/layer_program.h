// What a model computes, as plain data: a short list of layers with their weights and properties. Architectures differ
// only in these values; no backend has a forward pass per architecture.
//
// Made by engine/model/ from a file; the views point into the mapped file and must outlive Backend::load, which copies
// or repacks what it needs.
#pragma once

#include "kernels/tensor_view.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tokenscope::kernels {

// Which elements of a head rotate together: (x0,x1),(x2,x3)… or (x0,x[d/2]),(x1,x[d/2+1])…
enum class RopePairing { Adjacent, HalfSplit };
enum class Activation { Silu, GeluTanh };

struct RopeSpec {
    RopePairing pairing = RopePairing::Adjacent;
    int dims = 0;                 // elements of a head that rotate, from its start; 0 = none
    float base = 10000.0f;        // theta_i = position · scale · base^(−2i/dims) / divisors[i]
    float scale = 1.0f;           // linear position scaling (1 = none)
    std::vector<float> divisors;  // dims/2 values ("rope_freqs.weight"), empty = all 1
};

struct LayerSpec {
    TensorView attnNorm;             // [1, embedding] RMS norm weight
    TensorView q, k, v;              // [heads · headDimK, embedding], [kvHeads · headDimK, …], [kvHeads · headDimV, …]
    TensorView qBias, kBias, vBias;  // optional
    TensorView qNorm, kNorm;         // optional [1, headDimK], RMS norm per head before RoPE
    TensorView attnOutput;           // [embedding, heads · headDimV]
    TensorView postAttnNorm;         // optional, on the attention's output before the residual is added
    TensorView ffnNorm;
    TensorView gate, up, down;  // down(act(gate x) · up x)
    TensorView postFfnNorm;     // optional
    RopeSpec rope;
    int window = 0;  // a query at position p sees keys at positions > p − window; 0 = all
};

struct LayerProgram {
    std::string name;  // of the model, for messages
    int embedding = 0;
    int feedForward = 0;
    int heads = 0;
    int kvHeads = 0;
    int headDimK = 0;
    int headDimV = 0;
    int vocabulary = 0;
    float normEpsilon = 1e-5f;
    float attentionScale = 0.0f;    // multiplies q·k
    float attentionSoftcap = 0.0f;  // s ← c · tanh(s / c); 0 = none
    float embeddingScale = 1.0f;    // multiplies the embedding row
    float finalSoftcap = 0.0f;      // on the logits; 0 = none
    Activation activation = Activation::Silu;
    TensorView tokenEmbedding;  // [vocabulary, embedding]
    TensorView outputNorm;
    TensorView head;  // [vocabulary, embedding]; the same view as tokenEmbedding where tied
    bool tiedHead = false;
    std::vector<LayerSpec> layers;
};

}  // namespace tokenscope::kernels
