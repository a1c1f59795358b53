// Apart from engine.cpp, so that a test with a loader of its own needs no backend.
#include "engine/engine.h"
#include "engine/loaded_model.h"

namespace tokenscope {

std::unique_ptr<EnginePort> makeEngine(EngineDependencies dependencies)
{
    if (!dependencies.memory)
        dependencies.memory = &systemMemoryLimit();
    const MemoryLimit& memory = *dependencies.memory;
    return makeEngine(std::move(dependencies), makeFileLoader(memory));
}

}  // namespace tokenscope
