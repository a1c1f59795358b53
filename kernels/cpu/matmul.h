// Matrix products of the CPU backend: weights packed once into groups of 16 rows, activations quantised to 8 bit in
// blocks of 32 (float formats keep f32 activations), one table of functions per instruction set.
//
// Every output element is reduced by one thread over k in block order, so that its bits depend on neither the number of
// rows in the step, nor their tiling, nor the threads; all instruction sets read the same layout. See the .cpp for
// the layout byte by byte.
#pragma once

#include "kernels/cpu/cpu_backend.h"
#include "kernels/kernel_error.h"
#include "kernels/tensor_view.h"

#include <cstddef>
#include <cstdint>

namespace tokenscope::kernels {

inline constexpr int kGroupRows = 16;

// A weight matrix in the packed layout. Does not own its bytes (one huge-page arena per model does).
struct PackedMatrix {
    DType type = DType::F32;
    int rows = 0;  // real rows; the last group may be padded with zero rows
    int cols = 0;
    const std::byte* data = nullptr;  // 64-byte aligned, groupCount() groups of groupBytes
    std::size_t groupBytes = 0;

    int groupCount() const { return (rows + kGroupRows - 1) / kGroupRows; }
};

// 64-byte aligned size of a whole packed matrix.
std::size_t packedBytes(DType type, int rows, int cols);

// Packs groups [groupBegin, groupEnd) of `source` to their place in `out` (the start of the whole packed matrix).
// Threads may pack different groups at the same time. BadWeights: a scale that is infinite or NaN.
KernelResult<void> packGroups(const TensorView& source, int groupBegin, int groupEnd, std::byte* out);
PackedMatrix packedView(const TensorView& source, const std::byte* packed);

// Activations of up to maxRows rows in the form the kernels read. Memory is owned by the caller.
struct Activations {
    int rows = 0;
    int cols = 0;
    std::byte* data = nullptr;  // activationBytes(maxRows, maxCols), 64-byte aligned
    std::size_t capacityBytes = 0;
};
// Room for both the quantised form and the f32 copy that F16, BF16 and F32 weights are multiplied with.
std::size_t activationBytes(int maxRows, int maxCols);

struct MatmulKernels {
    // x: [rows, cols] f32 with `xStride` floats between rows. Fills rows [rowBegin, rowEnd); rows are independent, so
    // that threads may share the work in units of kGroupRows rows. `activations.rows/cols` are set by the caller first.
    // forFloatWeights: also (or only) what float formats need.
    void (*quantize)(const float* x, std::ptrdiff_t xStride, int rowBegin, int rowEnd, bool forFloatWeights,
                     Activations& activations);
    // out[row · outStride + r] = Σ_k w[r, k] · x[row, k] for r of groups [groupBegin, groupEnd) and all rows of x.
    // accumulate: adds to what out holds (residual).
    void (*matmul)(const PackedMatrix& weights, int groupBegin, int groupEnd, const Activations& x, float* out,
                   std::ptrdiff_t outStride, bool accumulate);
    // One row of a packed matrix back to f32 (embedding look-up): out[cols].
    void (*unpackRow)(const PackedMatrix& weights, int row, float* out);
};

bool needsFloatActivations(DType type);
const MatmulKernels& matmulKernels(Isa isa);

}  // namespace tokenscope::kernels
