// Measures what this machine can do at most: a read several times the last-level cache, and multiply-adds by type.
// Takes about a second. MBU and MFU are shares of these, never of a datasheet.
#pragma once

#include "kernels/cpu/cpu_backend.h"

namespace tokenscope::kernels {

struct Ceilings {
    double readBytesPerSecond = 0.0;  // all threads, huge pages, buffer ≥ 4 × last-level cache
    double int8MacsPerSecond = 0.0;   // 8-bit dot products of the instruction set
    double f32MacsPerSecond = 0.0;    // fused multiply-adds
};

KernelResult<Ceilings> measureCeilings(const CpuOptions& options);

}  // namespace tokenscope::kernels
