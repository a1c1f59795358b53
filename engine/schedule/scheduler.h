// Decides what the next step computes: which rows of which sequences, and into which blocks. A state machine without
// clock, threads or backend: the same calls give the same plans, so that a step can be replayed.
//
// A sequence is `tokens` long, of which the first `computed` are in the cache. Decoding it has one token to go, a
// prompt many; a prompt is decoded as soon as its last row is computed and the sampled token is appended.
//
// Rules (engine.md 2.2): decode rows first; then prefill pieces of those already begun, oldest first; then from the
// queue, in order, while there is a place, a row and enough blocks for the whole prompt (they are promised to it, so
// that two half-computed prompts can not starve each other). A decoding sequence that gets no block is reported.
//
// Of the engine thread.
#pragma once

#include "engine/cache/block_pool.h"
#include "engine/types/ids.h"

#include <cstddef>
#include <deque>
#include <vector>

namespace tokenscope {

struct ScheduleLimits {
    int sequences = 1;   // in the same step
    int blockCount = 0;  // of the pool
};

// Most prompt rows of a step.
struct RowBudget {
    int prefillRows = 0;  // at least 1
    int scoreRows = 32;   // of them rows of scoring requests: each wants a row of logits, [32, 262,144] f32 is 33 MB
};

struct ScheduledPiece {
    RequestId request = 0;
    int firstToken = 0;  // position of the first row = tokens in the cache before
    int rows = 0;
    bool isPrefill = false;
    bool isLast = false;  // the sequence is computed to its end after this: its last row's logits choose the next token
    bool isScoring = false;
    int newBlocks = 0;  // taken since the sequence's last committed step
};

struct ScheduledStep {
    std::vector<ScheduledPiece> pieces;
    std::vector<RequestId> starved;  // decoding, and no block is left for their next token; not in `pieces`
    int rows = 0;
    int prefillRows = 0;
};

class Scheduler {
public:
    explicit Scheduler(const ScheduleLimits& limits);

    // Waits in the queue. tokens ≥ 1 and at most maxTokens().
    void add(RequestId request, int tokens, bool isScoring);
    // The token sampled after a step in which the sequence's piece was the last.
    void appendToken(RequestId request);
    // Waiting or running: its blocks are free at once. False if it is not known.
    bool remove(RequestId request);

    // `decodingRows()` sequences decode, so a cost model can choose the budget before.
    ScheduledStep plan(const RowBudget& budget);
    // The planned rows were computed. A step that is not committed counts as never run.
    void commit(const ScheduledStep& step);

    int decodingRows() const;
    bool isIdle() const { return m_running.empty() && m_waiting.empty(); }
    int maxTokens() const;  // that a single sequence could hold in the pool
    const std::vector<BlockId>& blocksOf(RequestId request) const;
    const BlockPool& pool() const { return m_pool; }
    std::size_t waitingCount() const { return m_waiting.size(); }
    std::size_t runningCount() const { return m_running.size(); }

private:
    struct Sequence {
        RequestId request = 0;
        int tokens = 0;
        int promptTokens = 0;
        int computed = 0;
        bool isScoring = false;
        int promisedBlocks = 0;  // for the prompt, not taken yet
        int newBlocks = 0;
        std::vector<BlockId> blocks;
    };

    Sequence* find(RequestId request);
    const Sequence* find(RequestId request) const;
    bool growTo(Sequence& sequence, int tokens);
    void addPiece(ScheduledStep& step, Sequence& sequence, int rows);

    ScheduleLimits m_limits;
    BlockPool m_pool;
    int m_promisedBlocks = 0;         // Σ over m_running
    std::vector<Sequence> m_running;  // oldest first
    std::deque<Sequence> m_waiting;
};

}  // namespace tokenscope
