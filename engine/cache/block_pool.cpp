#include "engine/cache/block_pool.h"

#include <cassert>

#include <fmt/format.h>

namespace tokenscope {

BlockPool::BlockPool(int blockCount)
{
    assert(blockCount >= 0);
    m_refCounts.assign(static_cast<std::size_t>(blockCount), 0);
    m_free.reserve(static_cast<std::size_t>(blockCount));
    for (BlockId block = blockCount - 1; block >= 0; --block)
        m_free.push_back(block);
}

Result<std::vector<BlockId>> BlockPool::take(int count)
{
    assert(count >= 0);
    if (count > freeCount())
        return fail(ErrorCode::OutOfKvMemory, "{} cache blocks are needed and {} of {} are free", count, freeCount(),
                    blockCount());
    std::vector<BlockId> taken;
    taken.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
        taken.push_back(m_free.back());
        m_free.pop_back();
        m_refCounts[static_cast<std::size_t>(taken.back())] = 1;
    }
    return taken;
}

void BlockPool::share(BlockId block)
{
    assert(refCount(block) > 0);
    ++m_refCounts[static_cast<std::size_t>(block)];
}

void BlockPool::giveBack(BlockId block)
{
    assert(refCount(block) > 0);
    if (--m_refCounts[static_cast<std::size_t>(block)] == 0)
        m_free.push_back(block);  // never allocates: room for every block was reserved
}

int BlockPool::refCount(BlockId block) const
{
    assert(block >= 0 && block < blockCount());
    return m_refCounts[static_cast<std::size_t>(block)];
}

}  // namespace tokenscope
