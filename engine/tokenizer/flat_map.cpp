#include "engine/tokenizer/flat_map.h"

#include <bit>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tokenscope {

void TextIndex::reserve(std::size_t count)
{
    const std::size_t slots = std::bit_ceil(2 * count + 2);
    m_ids.assign(slots, -1);
    m_mask = slots - 1;
}

std::uint64_t TextIndex::hash(std::string_view text)
{
    return XXH3_64bits(text.data(), text.size());
}

void MergeTable::reserve(std::size_t count)
{
    const std::size_t slots = std::bit_ceil(2 * count + 2);
    m_merges.assign(slots, Merge{});
    m_mask = slots - 1;
}

std::size_t MergeTable::slotOf(std::uint64_t pair) const
{
    // The multiplier is 2^64 divided by the golden ratio: its high bits mix both ids.
    std::size_t slot = static_cast<std::size_t>((pair * 0x9E3779B97F4A7C15ull) >> 24) & m_mask;
    while (m_merges[slot].pair != kEmpty && m_merges[slot].pair != pair)
        slot = (slot + 1) & m_mask;
    return slot;
}

void MergeTable::insert(std::int32_t left, std::int32_t right, std::int32_t rank, std::int32_t result)
{
    const std::uint64_t pair = key(left, right);
    Merge& merge = m_merges[slotOf(pair)];
    if (merge.pair == kEmpty)
        merge = {pair, rank, result};
}

const MergeTable::Merge* MergeTable::find(std::int32_t left, std::int32_t right) const
{
    const Merge& merge = m_merges[slotOf(key(left, right))];
    return merge.pair == kEmpty ? nullptr : &merge;
}

}  // namespace tokenscope
