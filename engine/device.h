// From settings to a backend of this build.
#pragma once

#include "engine/base/result.h"
#include "engine/engine.h"
#include "kernels/backend.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/kernel_error.h"

#include <memory>
#include <string_view>

namespace tokenscope {

Error toError(const kernels::KernelError& error);

Result<std::unique_ptr<kernels::Backend>> makeBackend(const EffectiveDevice& device);

// "CPU", "Reference"
const char* deviceLabel(Device device);
// The same set under the engine's name; Auto has none.
IsaChoice isaChoice(kernels::Isa isa);
kernels::Isa kernelIsa(IsaChoice choice);
// "scalar", "avx2", "avx512", "neon"; the reference kernels have none of their own: "reference"
std::string_view isaLabel(const EffectiveDevice& device);

}  // namespace tokenscope
