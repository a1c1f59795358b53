// One step of work, as plain arrays: which tokens of which sequences are computed, where their keys and values go, and
// whose logits are wanted. A prefill piece is many rows with at most one logit row, decode is one row, verification of
// drafts 1 + k rows with k + 1 logit rows; nothing else distinguishes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tokenscope::kernels {

// Tokens in a cache block. Half a block is wasted per sequence on average; smaller makes the table walk visible.
inline constexpr int kBlockTokens = 32;

// Rows firstRow … firstRow + rows − 1 belong to this sequence, at positions kvLength … kvLength + rows − 1.
struct SequenceSlice {
    std::int32_t firstRow = 0;
    std::int32_t rows = 0;
    std::int32_t kvLength = 0;          // tokens in the cache before this step
    std::int32_t blockTableOffset = 0;  // into StepPlan::blockTable
    std::int32_t blockCount = 0;        // covers kvLength + rows tokens
};

struct StepPlan {
    std::vector<std::int32_t> tokens;      // [rows]
    std::vector<SequenceSlice> sequences;  // in row order, together covering all rows
    std::vector<std::int32_t> blockTable;  // ids of cache blocks
    std::vector<std::int32_t> logitRows;   // ascending row indices whose logits are wanted

    int rows() const { return static_cast<int>(tokens.size()); }
};

// Logits whose maximum a device gives beside them: sampling need not look at the chunks that are far below the largest.
inline constexpr int kLogitChunk = 1024;
inline constexpr std::size_t logitChunks(std::size_t vocabulary)
{
    return (vocabulary + kLogitChunk - 1) / kLogitChunk;
}

// What runStep gives back. The spans live until the next call on the same device model.
struct StepResult {
    std::span<const float> logits;       // [logitRows, vocabulary]
    std::span<const float> chunkMaxima;  // [logitRows, logitChunks(vocabulary)]; empty: this device gives none
};

}  // namespace tokenscope::kernels
