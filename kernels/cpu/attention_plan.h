// Which thread computes which attention: the work of one step as a list of tiles, and its static split. The same for
// every layer with the same window.
#pragma once

#include "kernels/cpu/packed_model.h"
#include "kernels/cpu/step_kernels.h"

#include <cstdint>
#include <vector>

namespace tokenscope::kernels {

// Rows of one sequence in the part of a step that is computed at once.
struct RowSpan {
    int firstRow = 0;
    int rows = 0;
    int firstPosition = 0;
    const std::int32_t* blockTable = nullptr;
};

// A few tokens × the heads of one kv head, over all pieces of keys they see or over one of them.
struct AttentionItem {
    int span = 0;  // index of the RowSpan
    int kvHead = 0;
    int firstHead = 0, heads = 0;
    int firstRow = 0, tokens = 0;
    int piece = -1;       // −1: all, result goes to the output; else one, result goes to partial slots
    int partialSlot = 0;  // of its first row (token-major: token · heads + head)
};

// A tile whose pieces were computed apart.
struct AttentionMerge {
    int firstHead = 0, heads = 0;
    int firstRow = 0, tokens = 0;
    int pieces = 0;
    int partialSlot = 0;  // pieces follow each other, tokens · heads slots each
};

struct AttentionPlan {
    std::vector<AttentionItem> items;
    std::vector<AttentionMerge> merges;
    std::vector<int> threadBegin;  // [threads + 1] into items
};

inline int firstVisible(int position, int window)
{
    return window > 0 && position >= window ? position - window + 1 : 0;
}

// partialSlots: how many may be used; 0 = never cut a tile into pieces. If they do not suffice no tile is cut.
void planAttention(const std::vector<RowSpan>& spans, int window, const PackedModel& model, int threads,
                   int partialSlots, AttentionPlan& plan);

}  // namespace tokenscope::kernels
