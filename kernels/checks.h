// What every backend asks before it computes: that a layer program's shapes fit together and that a step plan stays
// within its arrays.
#pragma once

#include "kernels/kernel_error.h"
#include "kernels/layer_program.h"
#include "kernels/step_plan.h"

namespace tokenscope::kernels {

// Unsupported, naming the tensor, its shape and the one it should have.
KernelResult<void> checkShapes(const LayerProgram& program);

// True if sequences cover all rows in order, their blocks hold all their tokens, and every token, block and logit row
// is in range. The engine makes plans that are; a backend asserts it.
bool isConsistent(const StepPlan& plan, int vocabulary, int cacheBlocks);

}  // namespace tokenscope::kernels
