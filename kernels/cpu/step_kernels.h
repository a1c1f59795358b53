// Everything of a step but the matrix products: one table of functions per instruction set, chosen once. The functions
// work on rows of floats, know no threads, and compute each row in an order of its own, whatever else is in the step.
#pragma once

#include "kernels/backend.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/layer_program.h"

#include <cstddef>
#include <cstdint>

namespace tokenscope::kernels {

// Query rows (tokens × heads of one kv head) that share each load of keys and values.
inline constexpr int kTileRows = 12;
// Keys are taken in pieces of this many positions, counted from position 0 of the sequence, and the pieces' results
// merged in order: so a row's bits depend on neither prefill chunks nor the split over threads.
inline constexpr int kPieceTokens = 256;

// Queries of one kv head and the keys and values they see.
struct AttentionTile {
    int rows = 0;                   // 1 … kTileRows
    const float* query[kTileRows];  // [headDimK], rotated
    float* out[kTileRows];          // [headDimV]
    int firstKey[kTileRows];        // positions a row sees, both included
    int lastKey[kTileRows];
    const std::byte* keys = nullptr;           // K tile of this layer and kv head in block 0
    std::size_t blockStride = 0;               // bytes from a block to the next, same layer and kv head
    std::size_t valueOffset = 0;               // bytes from a K tile to its V tile
    const std::int32_t* blockTable = nullptr;  // of the sequence
    CacheType type = CacheType::F16;
    int headDimK = 0;  // multiples of 8
    int headDimV = 0;
    float scale = 0.0f;
    float softcap = 0.0f;      // 0 = none
    float* scratch = nullptr;  // attentionScratchFloats()
};

// A row's result over one piece: largest score (base 2), sum of weights, and the weighted values, not yet divided.
// [0] = largest, [1] = sum, values from kPartialHeader.
inline constexpr int kPartialHeader = 16;
inline int partialFloats(int headDimV)
{
    return kPartialHeader + headDimV;
}
inline std::size_t attentionScratchFloats(int headDimK, int headDimV)
{
    const std::size_t perRow = static_cast<std::size_t>(headDimK) + (kPieceTokens + 16) +
                               2 * static_cast<std::size_t>(partialFloats(headDimV));
    return kTileRows * perRow + 64;
}

struct StepKernels {
    // out[i] = x[i] / √(mean(x²) + epsilon) · weight[i]; out may be x.
    void (*rmsNorm)(const float* x, const float* weight, float epsilon, int n, float* out);
    void (*add)(float* x, const float* y, int n);                        // x ← x + y
    void (*scale)(float* x, float factor, int n);                        // x ← x · factor
    void (*gate)(Activation kind, float* gate, const float* up, int n);  // gate ← act(gate) · up
    // x[i] ← x[i]·cos[i] + partner(x, i)·sin[i] for i < dims; sin carries the sign (RopeTable).
    void (*rotate)(float* x, const float* cos, const float* sin, int dims, RopePairing pairing);
    void (*softcap)(float* x, float cap, int n);  // x ← cap · tanh(x / cap)
    bool (*allFinite)(const float* x, int n);
    float (*largest)(const float* x, int n);                    // of finite numbers; n ≥ 1
    void (*toHalf)(const float* x, std::uint16_t* out, int n);  // to nearest, ties to even

    // x ← what quantising it to 8 bits in blocks of 32 leaves over; n is a multiple of 32.
    void (*quantizationRest)(float* x, int n);

    // out = softmax(scale · q·K) · V over all keys a row sees.
    void (*attend)(const AttentionTile& tile);
    // The same over one piece only: partials[row · partialFloats(headDimV)].
    void (*attendPiece)(const AttentionTile& tile, int piece, float* partials);
    // Merges `count` partials of one row, `stride` floats apart, in order: the same bits as attend(). `running` is room
    // for one partial.
    void (*mergePartials)(const float* partials, std::ptrdiff_t stride, int count, int headDimV, float* running,
                          float* out);
};

const StepKernels& stepKernels(Isa isa);

}  // namespace tokenscope::kernels
