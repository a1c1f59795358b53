// The tables behind stepKernels(), one a file.
#pragma once

#include "kernels/cpu/step_kernels.h"

namespace tokenscope::kernels {

const StepKernels& stepKernelsScalar();
#if defined(__x86_64__)
const StepKernels& stepKernelsAvx2();
const StepKernels& stepKernelsAvx512();
#endif

}  // namespace tokenscope::kernels
