// The tables behind stepKernels(), one a file; a family of processors links its own and the scalar one.
#pragma once

#include "kernels/cpu/step_kernels.h"

namespace tokenscope::kernels {

const StepKernels& stepKernelsScalar();
const StepKernels& stepKernelsAvx2();
const StepKernels& stepKernelsAvx512();
const StepKernels& stepKernelsNeon();

}  // namespace tokenscope::kernels
