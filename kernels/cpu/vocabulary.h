// Reductions over a row of logits, cut into chunks of kLogitChunk entries: what sampling needs of a large vocabulary.
// One table of functions per instruction set. All of them give the same bits: the number of partial sums is fixed
// whatever the width of the registers, and nothing is fused.
#pragma once

#include "kernels/cpu/cpu_backend.h"
#include "kernels/step_plan.h"

#include <cstdint>

namespace tokenscope::kernels {

// Every pointer to a chunk points to kLogitChunk entries; a row's last chunk is filled up with −infinity.
struct VocabularyKernels {
    // NaN if an entry is NaN or +infinity.
    float (*largest)(const float* chunk);

    // Writes firstId + i for all low ≤ chunk[i] ≤ high, ascending, and returns how many. `ids` has room for
    // kLogitChunk + kSelectSlack.
    int (*select)(const float* chunk, float low, float high, std::int32_t firstId, std::int32_t* ids);

    // sums[c] = Σ exp((chunks[c][i] − largest) · inverseTemperature), in four partial sums.
    void (*expSums)(const float* const* chunks, int count, float largest, float inverseTemperature, double* sums);

    // weights[i] = exp((chunk[i] − largest) · inverseTemperature), the same exponential; returns their sum.
    double (*expWeights)(const float* chunk, float largest, float inverseTemperature, float* weights);

    // Σ weights[i] of all chunk[i] ≥ low, in the order of expWeights.
    double (*sumAtLeast)(const float* chunk, const float* weights, float low);
};
inline constexpr int kSelectSlack = 16;

const VocabularyKernels& vocabularyKernels(Isa isa);

}  // namespace tokenscope::kernels
