// The paged cache of the CPU backend: [layer][block][kv head], there K transposed [headDimK][32 tokens] and behind it
// V [32 tokens][headDimV], f16 or f32. A head's tile of one block is one 4 KiB page at 64 × f16, and a step reads the
// tiles it needs from front to back. Slots that hold no token are never added to anything: their contents may be
// anything.
#pragma once

#include "kernels/backend.h"
#include "kernels/cpu/arena.h"
#include "kernels/cpu/step_kernels.h"

#include <cstddef>

namespace tokenscope::kernels {

struct CacheShape {
    int layers = 0;
    int kvHeads = 0;
    int headDimK = 0;
    int headDimV = 0;
};

class KvCache {
public:
    KvCache() = default;
    static KernelResult<KvCache> allocate(const CacheShape& shape, const CacheSpec& spec);

    int blockCount() const { return m_spec.blockCount; }
    CacheType type() const { return m_spec.type; }
    std::size_t bytes() const { return m_arena.bytes(); }

    std::size_t elementBytes() const { return m_spec.type == CacheType::F16 ? 2 : 4; }
    std::size_t valueOffset() const
    {
        return kBlockTokens * static_cast<std::size_t>(m_shape.headDimK) * elementBytes();
    }
    std::size_t headBytes() const
    {
        return kBlockTokens * static_cast<std::size_t>(m_shape.headDimK + m_shape.headDimV) * elementBytes();
    }
    std::size_t blockStride() const { return headBytes() * static_cast<std::size_t>(m_shape.kvHeads); }
    // The K tile of block 0.
    std::byte* tile(int layer, int kvHead) const
    {
        return m_arena.data() + static_cast<std::size_t>(layer) * layerBytes() +
               static_cast<std::size_t>(kvHead) * headBytes();
    }

    // One token's key or value of one head; different threads may write different tokens or heads.
    void writeKey(const StepKernels& kernels, int layer, int kvHead, int block, int slot, const float* key) const;
    void writeValue(const StepKernels& kernels, int layer, int kvHead, int block, int slot, const float* value) const;

private:
    std::size_t layerBytes() const { return blockStride() * static_cast<std::size_t>(m_spec.blockCount); }

    CacheShape m_shape;
    CacheSpec m_spec;
    Arena m_arena;
};

}  // namespace tokenscope::kernels
