#include "kernels/reference/reference_model.h"

#include "kernels/checks.h"
#include "kernels/reference/operations.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <new>
#include <string>

namespace tokenscope::kernels {
namespace {

// maxima[c] = max(logits[c · kLogitChunk … (c + 1) · kLogitChunk − 1])
void appendChunkMaxima(std::span<const float> logits, std::vector<float>& maxima)
{
    for (std::size_t begin = 0; begin < logits.size(); begin += kLogitChunk) {
        const auto chunk = logits.subspan(begin, std::min<std::size_t>(kLogitChunk, logits.size() - begin));
        maxima.push_back(*std::max_element(chunk.begin(), chunk.end()));
    }
}

struct Widths {
    int query = 0;
    int key = 0;
    int value = 0;
    int attended = 0;
    int widest = 0;  // input of a matrix
};

Widths widthsOf(const LayerProgram& p)
{
    Widths w{p.heads * p.headDimK, p.kvHeads * p.headDimK, p.kvHeads * p.headDimV, p.heads * p.headDimV, 0};
    w.widest = std::max({p.embedding, p.feedForward, w.attended});
    return w;
}

tl::unexpected<KernelError> error(KernelErrorCode code, std::string message)
{
    return tl::unexpected(KernelError{code, std::move(message)});
}

bool isSet(const std::atomic<bool>* flag)
{
    return flag != nullptr && flag->load(std::memory_order_relaxed);
}

}  // namespace

std::size_t ReferenceModel::scratchBytes(const LayerProgram& p)
{
    const Widths w = widthsOf(p);
    const std::size_t perRow = static_cast<std::size_t>(3 * p.embedding) + static_cast<std::size_t>(w.query) +
                               static_cast<std::size_t>(w.key) + static_cast<std::size_t>(w.value) +
                               static_cast<std::size_t>(w.attended) + 2 * static_cast<std::size_t>(p.feedForward);
    return perRow * kPieceRows * sizeof(float) + matmulScratch(kPieceRows, w.widest) * sizeof(double);
}

ReferenceModel::ReferenceModel(const LayerProgram& program, FloatWeights weights)
    : m_program(program), m_weights(std::move(weights))
{
    const Widths w = widthsOf(program);
    const auto rows = [](int width) { return static_cast<std::size_t>(width) * kPieceRows; };
    for (auto* buffer : {&m_hidden, &m_normed, &m_stageOut})
        buffer->resize(rows(program.embedding));
    m_query.resize(rows(w.query));
    m_key.resize(rows(w.key));
    m_value.resize(rows(w.value));
    m_attended.resize(rows(w.attended));
    m_gate.resize(rows(program.feedForward));
    m_up.resize(rows(program.feedForward));
    m_matmulScratch.resize(matmulScratch(kPieceRows, w.widest));
    m_rows.reserve(kPieceRows);
}

KernelResult<void> ReferenceModel::reserveCache(const CacheSpec& spec)
{
    m_cache = PagedCache();
    auto cache = PagedCache::make(m_program, spec);
    if (!cache)
        return tl::unexpected(std::move(cache.error()));
    const std::size_t tokens = static_cast<std::size_t>(spec.blockCount) * kBlockTokens;
    try {
        m_keys.resize(tokens * static_cast<std::size_t>(m_program.headDimK));
        m_values.resize(tokens * static_cast<std::size_t>(m_program.headDimV));
        m_probabilities.resize(tokens);
    } catch (const std::bad_alloc&) {
        return error(KernelErrorCode::OutOfMemory,
                     "scratch for attention over " + std::to_string(tokens) + " tokens could not be allocated");
    }
    m_cache = std::move(*cache);
    return {};
}

DeviceMemory ReferenceModel::memory() const
{
    DeviceMemory memory;
    memory.weightBytes = floatWeightBytes(m_program);
    memory.cacheBytes = m_cache.bytes();
    memory.scratchBytes = scratchBytes(m_program) +
                          (m_keys.size() + m_values.size() + m_logits.size()) * sizeof(float) +
                          m_probabilities.size() * sizeof(double);
    return memory;
}

std::span<float> ReferenceModel::rowOf(std::vector<float>& buffer, int width, std::size_t row)
{
    const auto size = static_cast<std::size_t>(width);
    assert((row + 1) * size <= buffer.size());
    return {buffer.data() + row * size, size};
}

void ReferenceModel::multiply(std::vector<float>& out, const FloatMatrix& weights, const std::vector<float>& x)
{
    matmul(out.data(), weights.values.get(), weights.rows, weights.cols, x.data(), static_cast<int>(m_rows.size()),
           m_matmulScratch);
}

// hidden ← hidden + postNorm(output(attention(rope(norm(q, k)), v))),   all of norm(hidden)
void ReferenceModel::attentionStage(int layer)
{
    const LayerProgram& p = m_program;
    const LayerSpec& spec = p.layers[static_cast<std::size_t>(layer)];
    const FloatLayer& w = m_weights.layers[static_cast<std::size_t>(layer)];
    for (std::size_t r = 0; r < m_rows.size(); ++r)
        rmsNorm(rowOf(m_normed, p.embedding, r), rowOf(m_hidden, p.embedding, r), w.attnNorm.row(0), p.normEpsilon);
    multiply(m_query, w.q, m_normed);
    multiply(m_key, w.k, m_normed);
    multiply(m_value, w.v, m_normed);

    const auto finishHeads = [&](std::vector<float>& buffer, int heads, const FloatMatrix& bias,
                                 const FloatMatrix& norm, std::size_t r) {
        if (bias)
            add(rowOf(buffer, heads * p.headDimK, r), bias.row(0));
        for (int h = 0; h < heads; ++h) {
            const auto head =
                rowOf(buffer, p.headDimK, r * static_cast<std::size_t>(heads) + static_cast<std::size_t>(h));
            if (norm)
                rmsNorm(head, head, norm.row(0), p.normEpsilon);
            rope(head, spec.rope.pairing, w.ropeFrequencies, m_rows[r].position);
        }
    };
    for (std::size_t r = 0; r < m_rows.size(); ++r) {
        finishHeads(m_query, p.heads, w.qBias, w.qNorm, r);
        finishHeads(m_key, p.kvHeads, w.kBias, w.kNorm, r);
        if (w.vBias)
            add(rowOf(m_value, p.kvHeads * p.headDimV, r), w.vBias.row(0));
        for (int h = 0; h < p.kvHeads; ++h) {
            const std::size_t head = r * static_cast<std::size_t>(p.kvHeads) + static_cast<std::size_t>(h);
            m_cache.write(layer, h, m_rows[r].table, m_rows[r].position, rowOf(m_key, p.headDimK, head),
                          rowOf(m_value, p.headDimV, head));
        }
    }

    for (std::size_t begin = 0, end = 0; begin < m_rows.size(); begin = end) {
        while (end < m_rows.size() && m_rows[end].sequence == m_rows[begin].sequence)
            ++end;
        attendSequence(layer, begin, end);
    }

    multiply(m_stageOut, w.attnOutput, m_attended);
    for (std::size_t r = 0; r < m_rows.size(); ++r) {
        const auto out = rowOf(m_stageOut, p.embedding, r);
        if (w.postAttnNorm)
            rmsNorm(out, out, w.postAttnNorm.row(0), p.normEpsilon);
        add(rowOf(m_hidden, p.embedding, r), out);
    }
}

// Query head h reads the keys and values of kv head h / group.
void ReferenceModel::attendSequence(int layer, std::size_t rowBegin, std::size_t rowEnd)
{
    const LayerProgram& p = m_program;
    const int window = p.layers[static_cast<std::size_t>(layer)].window;
    const int group = p.heads / p.kvHeads;
    const AttentionShape shape{p.headDimK, p.headDimV, p.attentionScale, p.attentionSoftcap};
    const std::int64_t first = firstVisible(m_rows[rowBegin].position, window);
    const std::int64_t end = m_rows[rowEnd - 1].position + 1;
    for (int kvHead = 0; kvHead < p.kvHeads; ++kvHead) {
        m_cache.read(layer, kvHead, m_rows[rowBegin].table, first, end, m_keys.data(), m_values.data());
        for (std::size_t r = rowBegin; r < rowEnd; ++r) {
            const std::int64_t visible = firstVisible(m_rows[r].position, window);
            const std::int64_t skipped = visible - first;
            const auto count = static_cast<std::size_t>(m_rows[r].position + 1 - visible);
            for (int g = 0; g < group; ++g) {
                const std::size_t head =
                    r * static_cast<std::size_t>(p.heads) + static_cast<std::size_t>(kvHead * group + g);
                attention(rowOf(m_attended, p.headDimV, head), shape, rowOf(m_query, p.headDimK, head),
                          m_keys.data() + skipped * p.headDimK, m_values.data() + skipped * p.headDimV,
                          {m_probabilities.data(), count});
            }
        }
    }
}

// hidden ← hidden + postNorm(down(act(gate x) · up x)),   x = norm(hidden)
void ReferenceModel::feedForwardStage(int layer)
{
    const LayerProgram& p = m_program;
    const FloatLayer& w = m_weights.layers[static_cast<std::size_t>(layer)];
    for (std::size_t r = 0; r < m_rows.size(); ++r)
        rmsNorm(rowOf(m_normed, p.embedding, r), rowOf(m_hidden, p.embedding, r), w.ffnNorm.row(0), p.normEpsilon);
    multiply(m_gate, w.gate, m_normed);
    multiply(m_up, w.up, m_normed);
    for (std::size_t r = 0; r < m_rows.size(); ++r)
        gate(rowOf(m_gate, p.feedForward, r), rowOf(m_up, p.feedForward, r), p.activation);
    multiply(m_stageOut, w.down, m_gate);
    for (std::size_t r = 0; r < m_rows.size(); ++r) {
        const auto out = rowOf(m_stageOut, p.embedding, r);
        if (w.postFfnNorm)
            rmsNorm(out, out, w.postFfnNorm.row(0), p.normEpsilon);
        add(rowOf(m_hidden, p.embedding, r), out);
    }
}

bool ReferenceModel::computePiece(const std::atomic<bool>* cancelled)
{
    const LayerProgram& p = m_program;
    for (std::size_t r = 0; r < m_rows.size(); ++r) {
        const auto embedding = m_weights.tokenEmbedding.row(m_rows[r].token);
        const auto hidden = rowOf(m_hidden, p.embedding, r);
        for (std::size_t i = 0; i < hidden.size(); ++i)
            hidden[i] = embedding[i] * p.embeddingScale;
    }
    for (int layer = 0; layer < static_cast<int>(p.layers.size()); ++layer) {
        if (isSet(cancelled))
            return false;
        attentionStage(layer);
        feedForwardStage(layer);
    }
    return !isSet(cancelled);
}

// logits = softcap(head · norm(hidden)) for the wanted rows of the piece, in order.
void ReferenceModel::computeLogits(std::span<float> out, std::span<const std::int32_t> wanted, int firstRow)
{
    const LayerProgram& p = m_program;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const auto row = static_cast<std::size_t>(wanted[i] - firstRow);
        rmsNorm(rowOf(m_normed, p.embedding, i), rowOf(m_hidden, p.embedding, row), m_weights.outputNorm.row(0),
                p.normEpsilon);
    }
    matmul(out.data(), m_weights.head().values.get(), p.vocabulary, p.embedding, m_normed.data(),
           static_cast<int>(wanted.size()), m_matmulScratch);
    softcap(out, p.finalSoftcap);
}

KernelResult<StepResult> ReferenceModel::runStep(const StepPlan& plan, const std::atomic<bool>* cancelled)
{
    assert(isConsistent(plan, m_program.vocabulary, m_cache.blockCount()));
    const auto vocabulary = static_cast<std::size_t>(m_program.vocabulary);
    try {
        m_logits.resize(plan.logitRows.size() * vocabulary);
        m_chunkMaxima.clear();
        m_chunkMaxima.reserve(plan.logitRows.size() * logitChunks(vocabulary));
    } catch (const std::bad_alloc&) {
        return error(KernelErrorCode::OutOfMemory,
                     "logits of " + std::to_string(plan.logitRows.size()) + " rows could not be allocated");
    }

    std::span<const std::int32_t> wanted(plan.logitRows);
    std::size_t logitsDone = 0;
    std::size_t sequence = 0;
    for (int begin = 0; begin < plan.rows(); begin += kPieceRows) {
        const int end = std::min(begin + kPieceRows, plan.rows());
        m_rows.clear();
        for (int row = begin; row < end; ++row) {
            while (row >= plan.sequences[sequence].firstRow + plan.sequences[sequence].rows)
                ++sequence;
            const SequenceSlice& slice = plan.sequences[sequence];
            m_rows.push_back({plan.tokens[static_cast<std::size_t>(row)],
                              std::int64_t{slice.kvLength} + row - slice.firstRow,
                              std::span(plan.blockTable)
                                  .subspan(static_cast<std::size_t>(slice.blockTableOffset),
                                           static_cast<std::size_t>(slice.blockCount)),
                              static_cast<int>(sequence)});
        }
        if (!computePiece(cancelled))
            return error(KernelErrorCode::Cancelled, "the step was cancelled at row " + std::to_string(begin) + " of " +
                                                         std::to_string(plan.rows()));
        const auto wantedEnd = std::lower_bound(wanted.begin(), wanted.end(), end);
        const std::span<const std::int32_t> here(wanted.begin(), wantedEnd);
        const std::span<float> logits{m_logits.data() + logitsDone * vocabulary, here.size() * vocabulary};
        computeLogits(logits, here, begin);
        const auto bad = std::find_if_not(logits.begin(), logits.end(), [](float v) { return std::isfinite(v); });
        if (bad != logits.end()) {
            const auto at = static_cast<std::size_t>(bad - logits.begin());
            return error(KernelErrorCode::NotANumber,
                         m_program.name + ": the logit of token " + std::to_string(at % vocabulary) + " in row " +
                             std::to_string(here[at / vocabulary]) + " is not a finite number");
        }
        for (std::size_t row = 0; row < here.size(); ++row)
            appendChunkMaxima(logits.subspan(row * vocabulary, vocabulary), m_chunkMaxima);
        logitsDone += here.size();
        wanted = wanted.subspan(here.size());
    }
    return StepResult{m_logits, m_chunkMaxima};
}

}  // namespace tokenscope::kernels
