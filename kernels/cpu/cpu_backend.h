// The CPU backend: weights repacked once into 16-row groups, 8-bit activations, one instruction set chosen at run time.
#pragma once

#include "kernels/backend.h"

#include <optional>
#include <string_view>
#include <vector>

namespace tokenscope::kernels {

enum class Isa { Scalar, Avx2, Avx512, Neon };  // Avx512 means F, BW, VL, DQ and VNNI; Neon means with dot products
inline constexpr Isa kAllIsas[] = {Isa::Scalar, Isa::Avx2, Isa::Avx512, Isa::Neon};  // of all processors

std::string_view isaName(Isa isa);  // "scalar", "avx2", "avx512", "neon"

// What this processor and operating system can run, slowest first; Scalar is always there.
const std::vector<Isa>& availableIsas();

struct CpuOptions {
    Isa isa = Isa::Scalar;  // must be available
    int threads = 1;        // ≥ 1, the calling thread included
};

// Unsupported: an instruction set this processor lacks (named), or threads out of 1 … 4 × cores.
KernelResult<std::unique_ptr<Backend>> makeCpuBackend(const CpuOptions& options);

// Physical cores this process may run on.
int physicalCores();

}  // namespace tokenscope::kernels
