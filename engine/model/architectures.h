// What distinguishes the architectures this program runs, as data. A new one is a new row, where the layer program can
// say what it computes.
#pragma once

#include "kernels/layer_program.h"

#include <span>
#include <string>
#include <string_view>

namespace tokenscope {

struct Architecture {
    std::string_view name;  // general.architecture
    kernels::RopePairing pairing = kernels::RopePairing::Adjacent;
    kernels::Activation activation = kernels::Activation::Silu;
    bool headNorms = false;        // attn_q_norm, attn_k_norm on every head before RoPE
    bool postNorms = false;        // post_attention_norm, post_ffw_norm before the residuals are added
    bool optionalBiases = false;   // attn_q.bias, attn_k.bias, attn_v.bias where the file has them
    bool ropeFactors = false;      // rope_freqs.weight where the file has it (Llama 3.1 and later)
    bool scaledEmbedding = false;  // embedding rows times √embedding
    bool softcaps = false;         // reads attn_logit_softcapping and final_logit_softcapping
    int globalEvery = 0;           // every so many layers one sees everything, the others a window; 0 = no windows
    double localRopeBase = 0.0;    // of layers with a window, which also know no position scaling
    int modelWideScaleLayers = 0;  // a model of so many layers scales attention by 1/√(embedding/heads)
};

// Null if this program does not run it.
const Architecture* findArchitecture(std::string_view name);
std::span<const Architecture> architectures();
std::string architectureNames();  // "llama, gemma3"

}  // namespace tokenscope
