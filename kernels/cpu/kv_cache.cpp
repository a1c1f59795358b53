#include "kernels/cpu/kv_cache.h"

#include <cstring>
#include <limits>
#include <string>

namespace tokenscope::kernels {

KernelResult<KvCache> KvCache::allocate(const CacheShape& shape, const CacheSpec& spec)
{
    KvCache cache;
    cache.m_shape = shape;
    cache.m_spec = spec;
    const std::size_t blockBytes = cache.blockStride() * static_cast<std::size_t>(shape.layers);
    const std::string what =
        "the cache of " + std::to_string(spec.blockCount) + " blocks of " + std::to_string(blockBytes) + " bytes";
    const auto blocks = static_cast<std::size_t>(spec.blockCount > 0 ? spec.blockCount : 0);
    if (blockBytes > 0 && blocks > std::numeric_limits<std::size_t>::max() / 4 / blockBytes)
        return tl::unexpected(KernelError{KernelErrorCode::OutOfMemory, what + " is more than any machine has"});
    auto arena = Arena::allocate(blocks * blockBytes, what);
    if (!arena)
        return tl::unexpected(arena.error());
    cache.m_arena = std::move(*arena);
    return cache;
}

void KvCache::writeKey(const StepKernels& kernels, int layer, int kvHead, int block, int slot, const float* key) const
{
    std::byte* tileBegin = tile(layer, kvHead) + static_cast<std::size_t>(block) * blockStride();
    if (m_spec.type == CacheType::F32) {
        float* column = reinterpret_cast<float*>(tileBegin) + slot;
        for (int d = 0; d < m_shape.headDimK; ++d)
            column[d * kBlockTokens] = key[d];
        return;
    }
    auto* column = reinterpret_cast<std::uint16_t*>(tileBegin) + slot;
    constexpr int kChunk = 64;
    for (int first = 0; first < m_shape.headDimK; first += kChunk) {
        const int count = m_shape.headDimK - first < kChunk ? m_shape.headDimK - first : kChunk;
        std::uint16_t halves[kChunk];
        kernels.toHalf(key + first, halves, count);
        for (int d = 0; d < count; ++d)
            column[(first + d) * kBlockTokens] = halves[d];
    }
}

void KvCache::writeValue(const StepKernels& kernels, int layer, int kvHead, int block, int slot,
                         const float* value) const
{
    std::byte* row = tile(layer, kvHead) + static_cast<std::size_t>(block) * blockStride() + valueOffset() +
                     static_cast<std::size_t>(slot) * static_cast<std::size_t>(m_shape.headDimV) * elementBytes();
    if (m_spec.type == CacheType::F32)
        std::memcpy(row, value, static_cast<std::size_t>(m_shape.headDimV) * sizeof(float));
    else
        kernels.toHalf(value, reinterpret_cast<std::uint16_t*>(row), m_shape.headDimV);
}

}  // namespace tokenscope::kernels
