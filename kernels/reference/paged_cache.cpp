#include "kernels/reference/paged_cache.h"

#include "kernels/reference/half.h"

#include <cassert>
#include <cstring>
#include <new>
#include <string>

namespace tokenscope::kernels {

KernelResult<PagedCache> PagedCache::make(const LayerProgram& program, const CacheSpec& spec)
{
    assert(spec.blockCount >= 0);
    PagedCache cache;
    cache.m_type = spec.type;
    cache.m_layers = static_cast<int>(program.layers.size());
    cache.m_kvHeads = program.kvHeads;
    cache.m_dimK = program.headDimK;
    cache.m_dimV = program.headDimV;
    cache.m_blockCount = spec.blockCount;
    const auto blocks = static_cast<std::size_t>(spec.blockCount);
    cache.m_bytes = blocks * cacheBlockBytes(program, spec.type);
    cache.m_valuesBegin = program.layers.size() * blocks * static_cast<std::size_t>(program.kvHeads) * kBlockTokens *
                          static_cast<std::size_t>(program.headDimK);
    cache.m_data.reset(new (std::nothrow) std::byte[cache.m_bytes]);
    if (!cache.m_data)
        return tl::unexpected(KernelError{KernelErrorCode::OutOfMemory,
                                          "a cache of " + std::to_string(spec.blockCount) + " blocks takes " +
                                              std::to_string(cache.m_bytes) + " bytes, and the system gave none"});
    std::memset(cache.m_data.get(), 0xff, cache.m_bytes);  // NaN in both formats
    return cache;
}

std::size_t PagedCache::tokenOffset(int layer, int kvHead, std::span<const std::int32_t> table, std::int64_t position,
                                    int dim) const
{
    assert(layer >= 0 && layer < m_layers && kvHead >= 0 && kvHead < m_kvHeads);
    assert(position >= 0 && position / kBlockTokens < static_cast<std::int64_t>(table.size()));
    const std::int32_t block = table[static_cast<std::size_t>(position / kBlockTokens)];
    assert(block >= 0 && block < m_blockCount);
    const std::int64_t plane = std::int64_t{layer} * m_blockCount + block;
    const std::int64_t token = (plane * m_kvHeads + kvHead) * kBlockTokens + position % kBlockTokens;
    return static_cast<std::size_t>(token * dim);
}

void PagedCache::store(std::size_t element, std::span<const float> source)
{
    if (m_type == CacheType::F32) {
        std::memcpy(m_data.get() + element * sizeof(float), source.data(), source.size_bytes());
        return;
    }
    for (const float value : source) {
        const std::uint16_t half = f32ToF16(value);
        std::memcpy(m_data.get() + element++ * sizeof half, &half, sizeof half);
    }
}

void PagedCache::load(std::size_t element, std::span<float> out) const
{
    if (m_type == CacheType::F32) {
        std::memcpy(out.data(), m_data.get() + element * sizeof(float), out.size_bytes());
        return;
    }
    for (float& value : out) {
        std::uint16_t half = 0;
        std::memcpy(&half, m_data.get() + element++ * sizeof half, sizeof half);
        value = f16ToF32(half);
    }
}

void PagedCache::write(int layer, int kvHead, std::span<const std::int32_t> table, std::int64_t position,
                       std::span<const float> key, std::span<const float> value)
{
    assert(static_cast<int>(key.size()) == m_dimK && static_cast<int>(value.size()) == m_dimV);
    store(tokenOffset(layer, kvHead, table, position, m_dimK), key);
    store(m_valuesBegin + tokenOffset(layer, kvHead, table, position, m_dimV), value);
}

void PagedCache::read(int layer, int kvHead, std::span<const std::int32_t> table, std::int64_t begin, std::int64_t end,
                      float* keys, float* values) const
{
    for (std::int64_t position = begin; position < end; ++position) {
        load(tokenOffset(layer, kvHead, table, position, m_dimK), {keys, static_cast<std::size_t>(m_dimK)});
        load(m_valuesBegin + tokenOffset(layer, kvHead, table, position, m_dimV),
             {values, static_cast<std::size_t>(m_dimV)});
        keys += m_dimK;
        values += m_dimV;
    }
}

}  // namespace tokenscope::kernels
