// The instruction sets' tables and what they share. Private to the matmul files.
#pragma once

#include "kernels/cpu/matmul.h"

namespace tokenscope::kernels {

const MatmulKernels& scalarMatmulKernels();
const MatmulKernels& avx2MatmulKernels();    // only where availableIsas() has Avx2
const MatmulKernels& avx512MatmulKernels();  // only where availableIsas() has Avx512
const MatmulKernels& neonMatmulKernels();    // only where availableIsas() has Neon

// One row is a look-up, not a product: the same plain code for all instruction sets.
void unpackRowScalar(const PackedMatrix& weights, int row, float* out);
void quantizeAvx2(const float* x, std::ptrdiff_t xStride, int rowBegin, int rowEnd, bool forFloatWeights,
                  Activations& activations);
void quantizeAvx512(const float* x, std::ptrdiff_t xStride, int rowBegin, int rowEnd, bool forFloatWeights,
                    Activations& activations);
void quantizeNeon(const float* x, std::ptrdiff_t xStride, int rowBegin, int rowEnd, bool forFloatWeights,
                  Activations& activations);

}  // namespace tokenscope::kernels
