// What the family of processors this build is for can run. CMake compiles one of isa_x86.cpp, isa_aarch64.cpp and
// isa_other.cpp, and with it that family's kernels only.
#pragma once

#include "kernels/cpu/ceilings_kernels.h"
#include "kernels/cpu/matmul.h"
#include "kernels/cpu/step_kernels.h"
#include "kernels/cpu/vocabulary.h"

#include <vector>

namespace tokenscope::kernels {

// The kernels of one instruction set.
struct IsaTables {
    const MatmulKernels& matmul;
    const StepKernels& step;
    const CeilingKernels& ceilings;
    const VocabularyKernels& vocabulary;
};

IsaTables scalarTables();
// Scalar where this family has no such instruction set. To be asked only for what this processor has.
IsaTables isaTables(Isa isa);

// What this build has kernels for, slowest first.
std::vector<Isa> compiledIsas();
// What this processor and operating system have besides Scalar, slowest first.
std::vector<Isa> detectVectorIsas();

}  // namespace tokenscope::kernels
