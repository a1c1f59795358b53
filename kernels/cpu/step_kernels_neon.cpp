#include "kernels/cpu/vec_neon.h"
// The vector first: the bodies are written in terms of it.
#include "kernels/cpu/row_ops_body.h"

#include "kernels/cpu/attention_body.h"
#include "kernels/cpu/step_kernel_tables.h"

namespace tokenscope::kernels {

const StepKernels& stepKernelsNeon()
{
    return kKernels;
}

}  // namespace tokenscope::kernels
