// A model that is ready to compute, and how the engine gets one. The loader is a seam: tests hand the engine one whose
// backend and tokenizer are made up.
#pragma once

#include "engine/base/clock.h"
#include "engine/base/result.h"
#include "engine/engine.h"
#include "engine/plan/budget.h"
#include "engine/types/model_info.h"
#include "engine/types/settings.h"
#include "kernels/backend.h"

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>

namespace tokenscope {

struct LoadedModel {
    LoadedModelInfo info;
    EngineSettings settings;  // as asked
    std::shared_ptr<const ModelText> text;
    std::unique_ptr<kernels::Backend> backend;
    std::unique_ptr<kernels::DeviceModel> device;  // goes before its backend
    std::function<StepCost(const kernels::StepPlan&)> stepCost;
    std::function<StageCosts(const kernels::StepPlan&)> stageCosts;  // for profiles; may be empty
};

struct LoadHooks {
    const std::atomic<bool>& cancelled;
    std::function<void(double fraction)> progress;
};

// A file that has been looked at and can be loaded; nothing large has been allocated.
class PreparedLoad {
public:
    virtual ~PreparedLoad() = default;
    virtual Result<std::unique_ptr<LoadedModel>> load(const LoadHooks& hooks) = 0;
};

// Of the engine's thread.
class ModelLoader {
public:
    virtual ~ModelLoader() = default;
    // Everything that can be refused without allocating: file, architecture, tokenizer, settings. The model in use
    // stays until this has succeeded.
    virtual Result<std::unique_ptr<PreparedLoad>> prepare(const std::filesystem::path& path,
                                                          const EngineSettings& settings) = 0;
};

// GGUF files on the backends of this build.
std::unique_ptr<ModelLoader> makeFileLoader(const MemoryLimit& memory);

// The engine with another loader.
std::unique_ptr<EnginePort> makeEngine(EngineDependencies dependencies, std::unique_ptr<ModelLoader> loader);

}  // namespace tokenscope
