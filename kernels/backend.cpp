#include "kernels/backend.h"

namespace tokenscope::kernels {

std::size_t cacheBlockBytes(const LayerProgram& program, CacheType type)
{
    const std::size_t elementBytes = type == CacheType::F16 ? 2 : 4;
    const std::size_t elementsPerToken =
        static_cast<std::size_t>(program.kvHeads) * static_cast<std::size_t>(program.headDimK + program.headDimV);
    return program.layers.size() * std::size_t{kBlockTokens} * elementsPerToken * elementBytes;
}

}  // namespace tokenscope::kernels
