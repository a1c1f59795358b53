#include "engine/schedule/scheduler.h"

#include "kernels/step_plan.h"

#include <algorithm>
#include <cassert>

namespace tokenscope {
namespace {

int blocksFor(int tokens)
{
    return (tokens + kernels::kBlockTokens - 1) / kernels::kBlockTokens;
}

}  // namespace

Scheduler::Scheduler(const ScheduleLimits& limits) : m_limits(limits), m_pool(limits.blockCount)
{
    assert(limits.sequences >= 1);
    m_running.reserve(static_cast<std::size_t>(limits.sequences));
}

int Scheduler::maxTokens() const
{
    return m_pool.blockCount() * kernels::kBlockTokens;
}

void Scheduler::add(RequestId request, int tokens, bool isScoring)
{
    assert(tokens >= 1 && tokens <= maxTokens() && !find(request));
    Sequence sequence;
    sequence.request = request;
    sequence.tokens = tokens;
    sequence.promptTokens = tokens;
    sequence.isScoring = isScoring;
    m_waiting.push_back(std::move(sequence));
}

void Scheduler::appendToken(RequestId request)
{
    Sequence* sequence = find(request);
    assert(sequence && sequence->computed == sequence->tokens);
    ++sequence->tokens;
}

bool Scheduler::remove(RequestId request)
{
    const auto isIt = [request](const Sequence& sequence) { return sequence.request == request; };
    if (const auto it = std::find_if(m_running.begin(), m_running.end(), isIt); it != m_running.end()) {
        // Backwards, so that the next sequence takes them in the same order.
        for (auto block = it->blocks.rbegin(); block != it->blocks.rend(); ++block)
            m_pool.giveBack(*block);
        m_promisedBlocks -= it->promisedBlocks;
        m_running.erase(it);
        return true;
    }
    if (const auto it = std::find_if(m_waiting.begin(), m_waiting.end(), isIt); it != m_waiting.end()) {
        m_waiting.erase(it);
        return true;
    }
    return false;
}

ScheduledStep Scheduler::plan(const RowBudget& budget)
{
    ScheduledStep step;
    step.pieces.reserve(m_running.size() + m_waiting.size());
    for (Sequence& sequence : m_running) {
        if (sequence.computed < sequence.promptTokens || sequence.computed == sequence.tokens)
            continue;
        if (growTo(sequence, sequence.tokens))
            addPiece(step, sequence, sequence.tokens - sequence.computed);
        else
            step.starved.push_back(sequence.request);
    }

    int rowsLeft = std::max(budget.prefillRows, 1);
    int scoreRowsLeft = std::max(budget.scoreRows, 1);
    const auto pieceRows = [&](const Sequence& sequence) {
        const int rows = std::min(sequence.promptTokens - sequence.computed, rowsLeft);
        return sequence.isScoring ? std::min(rows, scoreRowsLeft) : rows;
    };
    const auto prefill = [&](Sequence& sequence) {
        const int rows = pieceRows(sequence);
        if (rows <= 0)
            return;
        [[maybe_unused]] const bool grown = growTo(sequence, sequence.computed + rows);
        assert(grown);  // its blocks were promised
        addPiece(step, sequence, rows);
        rowsLeft -= rows;
        if (sequence.isScoring)
            scoreRowsLeft -= rows;
    };
    for (Sequence& sequence : m_running)
        if (sequence.computed < sequence.promptTokens)
            prefill(sequence);
    while (!m_waiting.empty() && static_cast<int>(m_running.size()) < m_limits.sequences &&
           pieceRows(m_waiting.front()) > 0) {
        const int needed = blocksFor(m_waiting.front().promptTokens);
        if (m_pool.freeCount() - m_promisedBlocks < needed)
            break;  // those behind it wait too: the order of arrival is kept
        m_waiting.front().promisedBlocks = needed;
        m_promisedBlocks += needed;
        m_running.push_back(std::move(m_waiting.front()));
        m_waiting.pop_front();
        prefill(m_running.back());
    }
    return step;
}

void Scheduler::commit(const ScheduledStep& step)
{
    for (const ScheduledPiece& piece : step.pieces) {
        Sequence* sequence = find(piece.request);
        assert(sequence && sequence->computed == piece.firstToken);
        sequence->computed += piece.rows;
        sequence->newBlocks = 0;
    }
}

int Scheduler::decodingRows() const
{
    return static_cast<int>(std::count_if(m_running.begin(), m_running.end(), [](const Sequence& sequence) {
        return sequence.computed >= sequence.promptTokens && sequence.computed < sequence.tokens;
    }));
}

const std::vector<BlockId>& Scheduler::blocksOf(RequestId request) const
{
    const Sequence* sequence = find(request);
    assert(sequence);
    return sequence->blocks;
}

Scheduler::Sequence* Scheduler::find(RequestId request)
{
    return const_cast<Sequence*>(static_cast<const Scheduler*>(this)->find(request));
}

const Scheduler::Sequence* Scheduler::find(RequestId request) const
{
    for (const Sequence& sequence : m_running)
        if (sequence.request == request)
            return &sequence;
    for (const Sequence& sequence : m_waiting)
        if (sequence.request == request)
            return &sequence;
    return nullptr;
}

// Blocks for the first `tokens`: the sequence's promised ones first, then what nobody was promised.
bool Scheduler::growTo(Sequence& sequence, int tokens)
{
    const int missing = blocksFor(tokens) - static_cast<int>(sequence.blocks.size());
    if (missing <= 0)
        return true;
    const int fromPromise = std::min(missing, sequence.promisedBlocks);
    if (m_pool.freeCount() - m_promisedBlocks < missing - fromPromise)
        return false;
    sequence.blocks.reserve(sequence.blocks.size() + static_cast<std::size_t>(missing));
    const auto taken = m_pool.take(missing);
    assert(taken.has_value());
    sequence.blocks.insert(sequence.blocks.end(), taken->begin(), taken->end());
    sequence.promisedBlocks -= fromPromise;
    m_promisedBlocks -= fromPromise;
    sequence.newBlocks += missing;
    return true;
}

void Scheduler::addPiece(ScheduledStep& step, Sequence& sequence, int rows)
{
    ScheduledPiece piece;
    piece.request = sequence.request;
    piece.firstToken = sequence.computed;
    piece.rows = rows;
    piece.isPrefill = sequence.computed < sequence.promptTokens;
    piece.isLast = sequence.computed + rows == sequence.tokens;
    piece.isScoring = sequence.isScoring;
    piece.newBlocks = sequence.newBlocks;
    step.pieces.push_back(piece);
    step.rows += rows;
    if (piece.isPrefill)
        step.prefillRows += rows;
}

}  // namespace tokenscope
