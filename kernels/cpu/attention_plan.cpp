#include "kernels/cpu/attention_plan.h"

#include <algorithm>

namespace tokenscope::kernels {
namespace {

struct Tile {
    AttentionItem item;
    int firstPiece, lastPiece;
    std::int64_t keys;
};

template <typename Visit>
void forEachTile(const std::vector<RowSpan>& spans, int window, const PackedModel& model, Visit visit)
{
    const int group = model.heads / model.kvHeads;
    const int headsPerTile = std::min(group, kTileRows);
    const int tokensPerTile = kTileRows / headsPerTile;
    for (std::size_t s = 0; s < spans.size(); ++s) {
        const RowSpan& span = spans[s];
        for (int kvHead = 0; kvHead < model.kvHeads; ++kvHead)
            for (int head = 0; head < group; head += headsPerTile)
                for (int token = 0; token < span.rows; token += tokensPerTile) {
                    Tile tile{};
                    tile.item.span = static_cast<int>(s);
                    tile.item.kvHead = kvHead;
                    tile.item.firstHead = kvHead * group + head;
                    tile.item.heads = std::min(headsPerTile, group - head);
                    tile.item.firstRow = span.firstRow + token;
                    tile.item.tokens = std::min(tokensPerTile, span.rows - token);
                    const int first = firstVisible(span.firstPosition + token, window);
                    const int last = span.firstPosition + token + tile.item.tokens - 1;
                    tile.firstPiece = first / kPieceTokens;
                    tile.lastPiece = last / kPieceTokens;
                    tile.keys = last - first + 1;
                    visit(tile);
                }
    }
}

}  // namespace

void planAttention(const std::vector<RowSpan>& spans, int window, const PackedModel& model, int threads,
                   int partialSlots, AttentionPlan& plan)
{
    plan.items.clear();
    plan.merges.clear();
    std::int64_t slotsNeeded = 0;
    forEachTile(spans, window, model, [&](const Tile& tile) {
        if (tile.lastPiece > tile.firstPiece)
            slotsNeeded += std::int64_t{tile.lastPiece - tile.firstPiece + 1} * tile.item.tokens * tile.item.heads;
    });
    const bool cut = slotsNeeded <= partialSlots;

    // An item's cost in rows × keys, and a constant for its start.
    constexpr std::int64_t kStart = 256;
    std::vector<std::int64_t> costs;
    int nextSlot = 0;
    forEachTile(spans, window, model, [&](const Tile& tile) {
        const int rows = tile.item.tokens * tile.item.heads;
        if (!cut || tile.firstPiece == tile.lastPiece) {
            plan.items.push_back(tile.item);
            costs.push_back(rows * tile.keys + kStart);
            return;
        }
        const int pieces = tile.lastPiece - tile.firstPiece + 1;
        plan.merges.push_back(
            {tile.item.firstHead, tile.item.heads, tile.item.firstRow, tile.item.tokens, pieces, nextSlot});
        for (int piece = tile.firstPiece; piece <= tile.lastPiece; ++piece) {
            AttentionItem item = tile.item;
            item.piece = piece;
            item.partialSlot = nextSlot;
            nextSlot += rows;
            plan.items.push_back(item);
            costs.push_back(std::int64_t{rows} * std::min<std::int64_t>(tile.keys, kPieceTokens) + kStart);
        }
    });

    std::int64_t total = 0;
    for (const std::int64_t cost : costs)
        total += cost;
    plan.threadBegin.assign(static_cast<std::size_t>(threads) + 1, static_cast<int>(plan.items.size()));
    plan.threadBegin[0] = 0;
    std::int64_t before = 0;
    int thread = 1;
    for (std::size_t i = 0; i < costs.size(); ++i) {
        // An item belongs to the thread in whose part its middle lies.
        while (thread < threads && (before + costs[i] / 2) * threads >= total * thread)
            plan.threadBegin[static_cast<std::size_t>(thread++)] = static_cast<int>(i);
        before += costs[i];
    }
}

}  // namespace tokenscope::kernels
