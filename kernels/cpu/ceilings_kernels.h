// The loops that measureCeilings times, one set for each instruction set. Each works from registers or streams one
// buffer and does nothing else; raw pointers only, because the files are compiled for processors others may lack.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tokenscope::kernels {

struct CeilingKernels {
    // Reads `bytes` (a multiple of 512, 64-byte aligned) once. The result only keeps the reads from being dropped.
    std::uint64_t (*read)(const std::byte* data, std::size_t bytes);
    // `rounds` times int8MacsPerRound or f32MacsPerRound multiply-adds; results as above.
    std::uint64_t (*multiplyInt8)(int rounds);
    std::uint64_t (*multiplyF32)(int rounds);
    int int8MacsPerRound = 0;
    int f32MacsPerRound = 0;
};

extern const CeilingKernels kCeilingsScalar;
extern const CeilingKernels kCeilingsAvx2;
extern const CeilingKernels kCeilingsAvx512;
extern const CeilingKernels kCeilingsNeon;

}  // namespace tokenscope::kernels
