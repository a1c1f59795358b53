#include "kernels/cpu/step_runner.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace tokenscope::kernels {

StepRunner::StepRunner(PackedModel model, StepScratch scratch, const MatmulKernels& matmul, const StepKernels& kernels,
                       ThreadPool& pool)
    : m_model(std::move(model)), m_scratch(std::move(scratch)), m_matmul(matmul), m_kernels(kernels), m_pool(pool),
      m_sharing(pool.threads()),
      m_headsFillGroups(m_model.headDimK % kGroupRows == 0 && m_model.headDimV % kGroupRows == 0)
{
    for (const PackedLayer& layer : m_model.layers)
        if (std::find(m_windows.begin(), m_windows.end(), layer.window) == m_windows.end())
            m_windows.push_back(layer.window);
    m_piece.attention.resize(m_windows.size());
}

KernelResult<void> StepRunner::reserveLogits(std::size_t rows)
{
    const std::size_t bytes = logitBytes(rows, m_model.vocabulary);
    if (bytes <= m_logits.bytes())
        return {};
    m_logits = Arena();  // before the new one, so that both are never held
    auto arena = Arena::allocate(bytes, "the logits of " + std::to_string(rows) + " rows");
    if (!arena)
        return tl::unexpected(arena.error());
    m_logits = std::move(*arena);
    return {};
}

KernelResult<StepResult> StepRunner::run(const StepPlan& plan, const KvCache& cache, const std::atomic<bool>* cancelled)
{
    if (auto reserved = reserveLogits(plan.logitRows.size()); !reserved)
        return tl::unexpected(reserved.error());
    auto* logits = reinterpret_cast<float*>(m_logits.data());
    m_cache = &cache;
    m_cancelled = cancelled;
    m_badLogitRow.store(-1, std::memory_order_relaxed);

    const auto vocabulary = static_cast<std::size_t>(m_model.vocabulary);
    const std::size_t chunks = logitChunks(vocabulary);
    float* maxima = logits + plan.logitRows.size() * vocabulary;
    std::fill_n(maxima, plan.logitRows.size() * chunks, -std::numeric_limits<float>::infinity());
    std::size_t logitRowsDone = 0;
    for (int firstRow = 0; firstRow < plan.rows(); firstRow += kMaxPieceRows) {
        cut(plan, firstRow, std::min(kMaxPieceRows, plan.rows() - firstRow));
        planWindows();
        m_piece.logits = logits + logitRowsDone * vocabulary;
        m_piece.chunkMaxima = maxima + logitRowsDone * chunks;
        bool completed = true;
        if (m_profile)
            m_profile->start();
        m_pool.run([&](int thread) {
            const bool mine = runPiece(thread);
            if (thread == 0)
                completed = mine;  // all threads agree: they left at the same barrier
        });
        mark(0, m_piece.logitRows.empty() ? Stage::Down : Stage::Head);  // up to where all threads are done
        if (!completed)
            return tl::unexpected(KernelError{KernelErrorCode::Cancelled, "the step was cancelled"});
        if (const int bad = m_badLogitRow.load(std::memory_order_relaxed); bad >= 0) {
            const int row = m_piece.logitRows[static_cast<std::size_t>(bad)];
            return tl::unexpected(KernelError{KernelErrorCode::NotANumber,
                                              m_model.name + ": the logits of row " + std::to_string(firstRow + row) +
                                                  " (position " +
                                                  std::to_string(m_piece.positions[static_cast<std::size_t>(row)]) +
                                                  ") hold an infinity or not a number"});
        }
        logitRowsDone += m_piece.logitRows.size();
    }
    return StepResult{{logits, plan.logitRows.size() * vocabulary}, {maxima, plan.logitRows.size() * chunks}};
}

void StepRunner::cut(const StepPlan& plan, int firstRow, int rows)
{
    m_piece.tokens = plan.tokens.data() + firstRow;
    m_piece.rows = rows;
    m_piece.spans.clear();
    m_piece.positions.clear();
    m_piece.blocks.clear();
    m_piece.logitRows.clear();
    for (const SequenceSlice& s : plan.sequences) {
        const int begin = std::max(s.firstRow, firstRow);
        const int end = std::min(s.firstRow + s.rows, firstRow + rows);
        if (begin >= end)
            continue;
        const std::int32_t* table = plan.blockTable.data() + s.blockTableOffset;
        m_piece.spans.push_back({begin - firstRow, end - begin, s.kvLength + begin - s.firstRow, table});
        for (int row = begin; row < end; ++row) {
            const int position = s.kvLength + row - s.firstRow;
            m_piece.positions.push_back(position);
            m_piece.blocks.push_back(table[position / kBlockTokens]);
        }
    }
    const auto first = std::lower_bound(plan.logitRows.begin(), plan.logitRows.end(), firstRow);
    for (auto row = first; row != plan.logitRows.end() && *row < firstRow + rows; ++row)
        m_piece.logitRows.push_back(*row - firstRow);
}

void StepRunner::planWindows()
{
    const bool mayCut = m_pool.threads() > 1 && m_piece.rows <= kPrivateRows;
    for (std::size_t i = 0; i < m_windows.size(); ++i)
        planAttention(m_piece.spans, m_windows[i], m_model, m_pool.threads(), mayCut ? kPartialSlots : 0,
                      m_piece.attention[i]);
}

const AttentionPlan& StepRunner::attentionOf(const PackedLayer& layer) const
{
    const auto window = std::find(m_windows.begin(), m_windows.end(), layer.window);
    return m_piece.attention[static_cast<std::size_t>(window - m_windows.begin())];
}

bool StepRunner::runPiece(int thread)
{
    return m_piece.rows <= kPrivateRows ? runSmall(thread) : runLarge(thread);
}

bool StepRunner::runSmall(int thread)
{
    ThreadScratch& mine = m_scratch.threads[static_cast<std::size_t>(thread)];
    const int rows = m_piece.rows, embedding = m_model.embedding;
    const Inputs x = own(thread);

    for (int row = 0; row < rows; ++row)
        embed(row, mine.hidden + row * embedding);
    fillRopes(thread);
    if (!barrier())
        return false;
    mark(thread, Stage::Embedding);

    const float* postNorm = nullptr;
    const auto addRows = [&] {
        for (int row = 0; row < rows; ++row)
            addProjection(mine.hidden + row * embedding, m_scratch.projection + row * embedding, postNorm,
                          mine.projection);
    };
    for (int index = 0; index < static_cast<int>(m_model.layers.size()); ++index) {
        const PackedLayer& layer = m_model.layers[static_cast<std::size_t>(index)];
        if (index > 0)
            addRows();
        normRows(mine.hidden, layer.attnNorm, rows, mine.rows);
        quantizeOwn(mine.rows, rows, embedding,
                    needsFloatActivations(layer.q.type) || needsFloatActivations(layer.k.type) ||
                        needsFloatActivations(layer.v.type),
                    mine.activations);
        if (!needsFloatActivations(layer.v.type)) {
            for (int row = 0; row < rows; ++row)
                m_kernels.quantizationRest(mine.rows + row * embedding, embedding);
            quantizeOwn(mine.rows, rows, embedding, false, mine.rest);
        }
        mark(thread, Stage::Norms);
        if (!(m_headsFillGroups ? projectQkvByHead(layer, index, x, ownRest(thread), thread)
                                : projectQkvByGroup(layer, index, x, ownRest(thread), thread)))
            return false;
        mark(thread, Stage::Qkv);

        attend(index, attentionOf(layer), thread);
        if (!barrier())
            return false;

        std::copy_n(m_scratch.attention, static_cast<std::ptrdiff_t>(rows) * m_model.attentionCols(), mine.rows);
        mergeAttention(attentionOf(layer), mine.rows, mine.attention);
        mark(thread, Stage::Attention);
        quantizeOwn(mine.rows, rows, m_model.attentionCols(), needsFloatActivations(layer.attnOutput.type),
                    mine.activations);
        mark(thread, Stage::Norms);
        multiplyShared(layer.attnOutput, x, m_scratch.projection, embedding, thread);
        if (!barrier())
            return false;
        mark(thread, Stage::AttentionOutput);

        postNorm = layer.postAttnNorm;
        addRows();
        normRows(mine.hidden, layer.ffnNorm, rows, mine.rows);
        quantizeOwn(mine.rows, rows, embedding,
                    needsFloatActivations(layer.gate.type) || needsFloatActivations(layer.up.type), mine.activations);
        mark(thread, Stage::Norms);
        gateAndUp(layer, x, thread);
        if (!barrier())
            return false;
        mark(thread, Stage::GateUp);

        quantizeOwn(m_scratch.feed, rows, m_model.feedForward, needsFloatActivations(layer.down.type),
                    mine.activations);
        mark(thread, Stage::Norms);
        multiplyShared(layer.down, x, m_scratch.projection, embedding, thread);
        if (!barrier())
            return false;
        mark(thread, Stage::Down);
        postNorm = layer.postFfnNorm;
    }
    if (m_piece.logitRows.empty())
        return true;
    finalRowsOwn(mine.hidden, postNorm, mine);
    mark(thread, Stage::Norms);
    computeLogits(x, thread);
    return true;
}

bool StepRunner::runLarge(int thread)
{
    ThreadScratch& mine = m_scratch.threads[static_cast<std::size_t>(thread)];
    const int rows = m_piece.rows, embedding = m_model.embedding;
    const auto hidden = [&](int row) { return m_scratch.hidden + row * embedding; };
    const auto normed = [&](int row) { return m_scratch.normed + row * embedding; };
    const auto projection = [&](int row) { return m_scratch.projection + row * embedding; };

    fillRopes(thread);
    mark(thread, Stage::Embedding);
    const float* postNorm = nullptr;
    for (int index = 0; index < static_cast<int>(m_model.layers.size()); ++index) {
        const PackedLayer& layer = m_model.layers[static_cast<std::size_t>(index)];
        const bool floatQkv = needsFloatActivations(layer.q.type) || needsFloatActivations(layer.k.type) ||
                              needsFloatActivations(layer.v.type);
        quantizeShare(m_scratch.blocks, m_scratch.normed, embedding, rows, floatQkv, thread, [&](int row) {
            if (index == 0)
                embed(row, hidden(row));
            else
                addProjection(hidden(row), projection(row), postNorm, mine.projection);
            m_kernels.rmsNorm(hidden(row), layer.attnNorm, m_model.normEpsilon, embedding, normed(row));
        });
        if (!needsFloatActivations(layer.v.type))
            quantizeRestShare(rows, thread);
        if (!barrier())
            return false;
        mark(thread, Stage::Norms);
        if (!projectQkvByGroup(layer, index, shared(thread, rows, embedding), sharedRest(thread, rows, embedding),
                               thread))
            return false;
        mark(thread, Stage::Qkv);

        attend(index, attentionOf(layer), thread);
        if (!barrier())
            return false;
        mark(thread, Stage::Attention);

        quantizeShare(m_scratch.blocks, m_scratch.attention, m_model.attentionCols(), rows,
                      needsFloatActivations(layer.attnOutput.type), thread, [](int) {});
        if (!barrier())
            return false;
        mark(thread, Stage::Norms);
        multiplyShared(layer.attnOutput, shared(thread, rows, m_model.attentionCols()), m_scratch.projection, embedding,
                       thread);
        if (!barrier())
            return false;
        mark(thread, Stage::AttentionOutput);

        quantizeShare(m_scratch.blocks, m_scratch.normed, embedding, rows,
                      needsFloatActivations(layer.gate.type) || needsFloatActivations(layer.up.type), thread,
                      [&](int row) {
                          addProjection(hidden(row), projection(row), layer.postAttnNorm, mine.projection);
                          m_kernels.rmsNorm(hidden(row), layer.ffnNorm, m_model.normEpsilon, embedding, normed(row));
                      });
        if (!barrier())
            return false;
        mark(thread, Stage::Norms);
        gateAndUp(layer, shared(thread, rows, embedding), thread);
        if (!barrier())
            return false;
        mark(thread, Stage::GateUp);

        quantizeShare(m_scratch.blocks, m_scratch.feed, m_model.feedForward, rows,
                      needsFloatActivations(layer.down.type), thread, [](int) {});
        if (!barrier())
            return false;
        mark(thread, Stage::Norms);
        multiplyShared(layer.down, shared(thread, rows, m_model.feedForward), m_scratch.projection, embedding, thread);
        if (!barrier())
            return false;
        mark(thread, Stage::Down);
        postNorm = layer.postFfnNorm;
    }

    const int wanted = static_cast<int>(m_piece.logitRows.size());
    if (wanted == 0)
        return true;
    if (wanted <= kPrivateRows) {
        finalRowsOwn(m_scratch.hidden, postNorm, mine);
        mark(thread, Stage::Norms);
        computeLogits(own(thread), thread);
        return true;
    }
    quantizeShare(m_scratch.blocks, m_scratch.normed, embedding, wanted, needsFloatActivations(m_model.head.type),
                  thread, [&](int i) {
                      const int row = m_piece.logitRows[static_cast<std::size_t>(i)];
                      std::copy_n(hidden(row), embedding, normed(i));
                      addProjection(normed(i), projection(row), postNorm, mine.projection);
                      m_kernels.rmsNorm(normed(i), m_model.outputNorm, m_model.normEpsilon, embedding, normed(i));
                  });
    if (!barrier())
        return false;
    mark(thread, Stage::Norms);
    computeLogits(shared(thread, wanted, embedding), thread);
    return true;
}

}  // namespace tokenscope::kernels
