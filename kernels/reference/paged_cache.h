// Keys and values of all layers in blocks of kBlockTokens tokens. A sequence finds its tokens through its block table;
// the cache knows no sequences. One element after another, as plain as it can be:
//   K [layer][block][kv head][32 tokens][headDimK], V [layer][block][kv head][32 tokens][headDimV], f32 or f16.
// What was never written reads as NaN, so that a wrong address cannot pass for a small error.
#pragma once

#include "kernels/backend.h"

#include <memory>
#include <span>

namespace tokenscope::kernels {

class PagedCache {
public:
    // OutOfMemory with the bytes asked for.
    static KernelResult<PagedCache> make(const LayerProgram& program, const CacheSpec& spec);
    PagedCache() = default;  // without blocks

    int blockCount() const { return m_blockCount; }
    std::size_t bytes() const { return m_bytes; }

    // key: [headDimK], value: [headDimV] of one token at `position` of the sequence with this table.
    void write(int layer, int kvHead, std::span<const std::int32_t> table, std::int64_t position,
               std::span<const float> key, std::span<const float> value);

    // Positions [begin, end) as f32, one after another: keys [end − begin, headDimK], values [end − begin, headDimV].
    void read(int layer, int kvHead, std::span<const std::int32_t> table, std::int64_t begin, std::int64_t end,
              float* keys, float* values) const;

private:
    // Index of the token's first element in the plane of keys or values whose heads have `dim` elements.
    std::size_t tokenOffset(int layer, int kvHead, std::span<const std::int32_t> table, std::int64_t position,
                            int dim) const;
    void store(std::size_t element, std::span<const float> source);
    void load(std::size_t element, std::span<float> out) const;

    CacheType m_type = CacheType::F16;
    int m_layers = 0;
    int m_kvHeads = 0;
    int m_dimK = 0;
    int m_dimV = 0;
    int m_blockCount = 0;
    std::size_t m_bytes = 0;
    std::size_t m_valuesBegin = 0;  // in elements: keys of all layers lie before
    std::unique_ptr<std::byte[]> m_data;
};

}  // namespace tokenscope::kernels
