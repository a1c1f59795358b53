// The working memory of a step, sized at load for kMaxPieceRows rows: nothing is allocated while a step runs but logits
// of more rows than ever before.
#pragma once

#include "kernels/cpu/arena.h"
#include "kernels/cpu/matmul.h"
#include "kernels/layer_program.h"
#include "kernels/step_plan.h"

#include <cstddef>
#include <vector>

namespace tokenscope::kernels {

// Rows computed at once; a larger step is computed in pieces, layer by layer each.
inline constexpr int kMaxPieceRows = 512;
// Up to here every thread norms and quantises all rows for itself, which is cheaper than a barrier.
inline constexpr int kPrivateRows = 16;
// Rows of one block of shared activations: 64 × 576 quantised elements stay in the second-level cache together with
// the weights that pass by.
inline constexpr int kBlockRows = 64;
// Gate and up are computed this many columns at a time, so that the product of one is still in the first-level cache
// when the other is there.
inline constexpr int kGateColumns = 128;
// Partial attention results of one row and head over one piece: one sequence at a context of 100,000 and nine heads.
inline constexpr int kPartialSlots = 4096;
// Logit rows reserved at load; more are taken when a step first wants them.
inline constexpr int kReservedLogitRows = 8;
// Logits of `rows` rows, then the maxima of their chunks.
inline std::size_t logitBytes(std::size_t rows, int vocabulary)
{
    const auto columns = static_cast<std::size_t>(vocabulary);
    return rows * (columns + logitChunks(columns)) * sizeof(float);
}

struct ScratchShape {
    int threads = 1;
    int embedding = 0;
    int feedForward = 0;
    int qkvCols = 0;
    int attentionCols = 0;
    int headDimK = 0;
    int headDimV = 0;
    std::vector<int> ropeDims;  // of each distinct rope table

    static ScratchShape of(const LayerProgram& program, int threads);
    int maxCols() const;
};

struct ThreadScratch {
    float* hidden = nullptr;      // [kPrivateRows][embedding]: this thread's copy of the residual stream
    float* rows = nullptr;        // [kPrivateRows][max(embedding, attentionCols)]
    float* projection = nullptr;  // [embedding]
    float* up = nullptr;          // [kBlockRows][kGateColumns]
    float* attention = nullptr;
    Activations activations;  // up to kPrivateRows rows
    Activations rest;         // of the same rows, embedding columns: see StepRunner::projectValues
    std::vector<Activations> sharedRests;
    std::vector<Activations>
        sharedBlocks;  // StepScratch::blocks, with this thread's own note of their rows and columns
};

struct StepScratch {
    Arena arena;
    float* hidden = nullptr;      // [kMaxPieceRows][embedding], used above kPrivateRows rows
    float* normed = nullptr;      // the same shape
    float* projection = nullptr;  // [rows][embedding]: what attention or feed-forward adds to the residual stream
    float* qkv = nullptr;         // [rows][qkvCols]
    float* attention = nullptr;   // [rows][attentionCols]
    float* feed = nullptr;        // [rows][feedForward]
    float* partials = nullptr;    // [kPartialSlots][partialFloats]
    std::vector<float*> ropeCos;  // for each rope table [rows][dims]
    std::vector<float*> ropeSin;
    std::vector<Activations> blocks;  // kBlockRows rows each
    std::vector<Activations> rests;
    std::vector<ThreadScratch> threads;

    static KernelResult<StepScratch> allocate(const ScratchShape& shape);
};

std::size_t stepScratchBytes(const ScratchShape& shape);

}  // namespace tokenscope::kernels
