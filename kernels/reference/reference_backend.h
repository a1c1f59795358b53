// The oracle: every operation in the plainest correct form, f32 storage with f64 sums, one thread. Kept for ever.
#pragma once

#include "kernels/backend.h"

namespace tokenscope::kernels {

std::unique_ptr<Backend> makeReferenceBackend();

}  // namespace tokenscope::kernels
