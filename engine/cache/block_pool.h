// Hands out fixed-size blocks of KV memory. A sequence owns a list of blocks rather than one long buffer, so a finished
// sequence leaves no hole that only an equally long one could fill.
//
// Blocks are counted, because prompts with a common beginning may share its blocks.
// Used by the engine loop only; not thread-safe. Knows numbers only: the memory belongs to the backend.
#pragma once

#include "engine/base/result.h"

#include <cstdint>
#include <vector>

namespace tokenscope {

using BlockId = std::int32_t;

class BlockPool {
public:
    explicit BlockPool(int blockCount);

    // Takes all `count` blocks or, if fewer are free, none (OutOfKvMemory).
    Result<std::vector<BlockId>> take(int count);
    // One more owner of a block that is in use.
    void share(BlockId block);
    // One owner fewer; the last one frees the block.
    void giveBack(BlockId block);

    int blockCount() const { return static_cast<int>(m_refCounts.size()); }
    int freeCount() const { return static_cast<int>(m_free.size()); }
    int usedCount() const { return blockCount() - freeCount(); }
    int refCount(BlockId block) const;

private:
    std::vector<BlockId> m_free;   // last freed first: likeliest to be in the processor's cache still
    std::vector<int> m_refCounts;  // by BlockId
};

}  // namespace tokenscope
