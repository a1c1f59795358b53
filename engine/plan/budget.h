// The arithmetic of memory and work: what a load takes before anything is allocated, and what a step must read and
// multiply. Formulas: engine.md 1.1.
#pragma once

#include "engine/base/result.h"
#include "engine/types/model_info.h"
#include "engine/types/settings.h"
#include "kernels/backend.h"

#include <array>
#include <cstdint>

namespace tokenscope {

// Bytes a process may still take: the smaller of free memory and what the control group leaves. A seam for tests.
class MemoryLimit {
public:
    virtual ~MemoryLimit() = default;
    virtual std::uint64_t availableBytes() const = 0;
};
const MemoryLimit& systemMemoryLimit();

// Resolves context and cache for these settings. OutOfMemory with the whole sum in the sentence if an explicitly asked
// context does not fit; with context 0 the largest multiple of a block that fits is taken (at least 512 tokens, else
// OutOfMemory). BadSetting out of range.
Result<MemoryBudget> planMemory(const kernels::LayerProgram& program, int trainedContext,
                                const EngineSettings& settings, const kernels::DeviceMemory& device,
                                std::uint64_t availableBytes);

struct StepCost {
    std::uint64_t weightBytes = 0;  // touched: one embedding row per token unless the tied head is read whole
    std::uint64_t kvReadBytes = 0;  // windows respected
    std::uint64_t kvWriteBytes = 0;
    std::uint64_t macs = 0;
};
// By kernels::Stage, as the profile of a step counts its time.
using StageCosts = std::array<StepCost, kernels::kStageCount>;
StageCosts stageCosts(const kernels::LayerProgram& program, const kernels::StepPlan& plan, kernels::CacheType cache);
StepCost stepCost(const kernels::LayerProgram& program, const kernels::StepPlan& plan, kernels::CacheType cache);

}  // namespace tokenscope
