// The stages of a step: what one thread does between two barriers.
#include "kernels/cpu/step_runner.h"

#include <algorithm>
#include <atomic>

namespace tokenscope::kernels {
namespace {

// Weights that stay in the second-level cache while several blocks of activations pass.
constexpr std::size_t kWeightChunkBytes = std::size_t{96} << 10;
// The least weights that a thread takes at a time for one row of activations, some four microseconds' worth; with more
// rows it is fewer, as time goes with both.
constexpr std::size_t kSharedBytes = std::size_t{64} << 10;

// Groups of 16 rows a thread takes at least when all rows are one block of activations.
int sharedGroups(const PackedMatrix& weights, int rows)
{
    return std::max(1, static_cast<int>(kSharedBytes / weights.groupBytes * 4 / static_cast<std::size_t>(rows + 3)));
}

// Groups [begin, end) as a matrix of its own.
PackedMatrix groupsOf(const PackedMatrix& weights, int begin, int end)
{
    PackedMatrix part = weights;
    part.data = weights.data + static_cast<std::size_t>(begin) * weights.groupBytes;
    part.rows = std::min(weights.rows, end * kGroupRows) - begin * kGroupRows;
    return part;
}

Share intersect(Share a, int begin, int end)
{
    return {std::max(a.begin, begin) - begin, std::min(a.end, end) - begin};
}

}  // namespace

void StepRunner::embed(int row, float* hidden) const
{
    m_matmul.unpackRow(m_model.tokenEmbedding, m_piece.tokens[row], hidden);
    if (m_model.embeddingScale != 1.0f)
        m_kernels.scale(hidden, m_model.embeddingScale, m_model.embedding);
}

void StepRunner::addProjection(float* hidden, const float* projection, const float* postNorm, float* room) const
{
    if (postNorm) {
        m_kernels.rmsNorm(projection, postNorm, m_model.normEpsilon, m_model.embedding, room);
        projection = room;
    }
    m_kernels.add(hidden, projection, m_model.embedding);
}

// Split by angles rather than rows: one row has up to a few hundred of them, at some 40 ns each.
void StepRunner::fillRopes(int thread)
{
    for (std::size_t table = 0; table < m_model.ropes.size(); ++table) {
        const RopeTable& rope = m_model.ropes[table];
        const int pairs = rope.dims() / 2;
        if (pairs == 0)
            continue;
        const Share share = shareOf(m_piece.rows * pairs, thread, m_pool.threads());
        for (int i = share.begin; i < share.end;) {
            const int row = i / pairs, first = i % pairs;
            const int end = std::min(pairs, first + share.end - i);
            rope.fill(m_piece.positions[static_cast<std::size_t>(row)], first, end,
                      m_scratch.ropeCos[table] + row * rope.dims(), m_scratch.ropeSin[table] + row * rope.dims());
            i += end - first;
        }
    }
}

void StepRunner::normRows(const float* hidden, const float* norm, int rows, float* out) const
{
    const int embedding = m_model.embedding;
    for (int row = 0; row < rows; ++row)
        m_kernels.rmsNorm(hidden + row * embedding, norm, m_model.normEpsilon, embedding, out + row * embedding);
}

void StepRunner::quantizeOwn(const float* x, int rows, int cols, bool forFloat, Activations& out) const
{
    out.rows = rows;
    out.cols = cols;
    m_matmul.quantize(x, cols, 0, rows, forFloat, out);
}

StepRunner::Inputs StepRunner::shared(int thread, int rows, int cols)
{
    return inputs(m_scratch.threads[static_cast<std::size_t>(thread)].sharedBlocks, rows, cols);
}

StepRunner::Inputs StepRunner::sharedRest(int thread, int rows, int cols)
{
    return inputs(m_scratch.threads[static_cast<std::size_t>(thread)].sharedRests, rows, cols);
}

StepRunner::Inputs StepRunner::inputs(std::vector<Activations>& blocks, int rows, int cols)
{
    const int count = (rows + kBlockRows - 1) / kBlockRows;
    for (int block = 0; block < count; ++block) {
        blocks[static_cast<std::size_t>(block)].rows = std::min(kBlockRows, rows - block * kBlockRows);
        blocks[static_cast<std::size_t>(block)].cols = cols;
    }
    return {blocks.data(), count, kBlockRows};
}

// Of the rows this thread has just normed and quantised; overwrites them.
void StepRunner::quantizeRestShare(int rows, int thread)
{
    quantizeShare(m_scratch.rests, m_scratch.normed, m_model.embedding, rows, false, thread, [&](int row) {
        m_kernels.quantizationRest(m_scratch.normed + static_cast<std::ptrdiff_t>(row) * m_model.embedding,
                                   m_model.embedding);
    });
}

// Products of the groups of `weights`, or of what `parts` lists, with all of x. A unit of work is a chunk of groups
// times a block of x; the blocks of a chunk follow each other, so that its weights stay in the cache.
template <typename Multiply>
void StepRunner::shareGroups(int groups, const PackedMatrix& weights, const Inputs& x, int thread, Multiply multiply)
{
    if (x.count == 1) {
        m_sharing.run(thread, groups, sharedGroups(weights, x.blocks[0].rows),
                      [&](int begin, int end) { multiply(Share{begin, end}, 0); });
        return;
    }
    const int step = std::max(1, static_cast<int>(kWeightChunkBytes / weights.groupBytes));
    m_sharing.runEach(thread, (groups + step - 1) / step * x.count, [&](int unit) {
        const int begin = unit / x.count * step;
        multiply(Share{begin, std::min(groups, begin + step)}, unit % x.count);
    });
}

void StepRunner::multiplyShared(const PackedMatrix& weights, const Inputs& x, float* out, int stride, int thread)
{
    shareGroups(weights.groupCount(), weights, x, thread,
                [&](Share groups, int block) { multiply(weights, groups, x, block, out, stride); });
}

// One block of x; out is where its product with block 0 begins.
void StepRunner::multiply(const PackedMatrix& weights, Share groups, const Inputs& x, int block, float* out, int stride,
                          bool accumulate) const
{
    if (groups.begin < groups.end)
        m_matmul.matmul(weights, groups.begin, groups.end, x.blocks[block],
                        out + static_cast<std::ptrdiff_t>(block) * x.blockRows * stride, stride, accumulate);
}

// Values get the rest of their activations as well, 16 bits in all: a value's error enters the residual stream as it
// is, and every later token reads those of the first ones. Measured on smollm2 (915 logits against exact ones): mean
// difference 0.184 → 0.146, largest 1.42 → 0.65, for a thirtieth of a layer's products. The same for queries: 0.165
// alone, for keys 0.181: not worth theirs.
void StepRunner::projectValues(const PackedLayer& layer, Share groups, const Inputs& x, const Inputs& rest,
                               int block) const
{
    float* out = m_scratch.qkv + m_model.queryCols() + m_model.keyCols();
    multiply(layer.v, groups, x, block, out, m_model.qkvCols());
    if (!needsFloatActivations(layer.v.type))
        multiply(layer.v, groups, rest, block, out, m_model.qkvCols(), true);
}

// Units are q heads, then k heads, then v heads, so that the thread that computed a head can finish it. One block of x.
bool StepRunner::projectQkvByHead(const PackedLayer& layer, int index, const Inputs& x, const Inputs& rest, int thread)
{
    const int heads = m_model.heads, kvHeads = m_model.kvHeads;
    const int keyGroups = m_model.headDimK / kGroupRows, valueGroups = m_model.headDimV / kGroupRows;
    m_sharing.runEach(thread, heads + 2 * kvHeads, [&](int unit) {
        const int kvHead = (unit - heads) % kvHeads;
        if (unit < heads)
            multiply(layer.q, {unit * keyGroups, (unit + 1) * keyGroups}, x, 0, m_scratch.qkv, m_model.qkvCols());
        else if (unit < heads + kvHeads)
            multiply(layer.k, {kvHead * keyGroups, (kvHead + 1) * keyGroups}, x, 0, m_scratch.qkv + m_model.queryCols(),
                     m_model.qkvCols());
        else
            projectValues(layer, {kvHead * valueGroups, (kvHead + 1) * valueGroups}, x, rest, 0);
        for (int row = 0; row < m_piece.rows; ++row)
            finishHead(layer, index, row, unit);
    });
    return barrier();
}

bool StepRunner::projectQkvByGroup(const PackedLayer& layer, int index, const Inputs& x, const Inputs& rest, int thread)
{
    const int q = layer.q.groupCount(), k = layer.k.groupCount(), v = layer.v.groupCount();
    shareGroups(q + k + v, layer.q, x, thread, [&](Share groups, int block) {
        multiply(layer.q, intersect(groups, 0, q), x, block, m_scratch.qkv, m_model.qkvCols());
        multiply(layer.k, intersect(groups, q, q + k), x, block, m_scratch.qkv + m_model.queryCols(),
                 m_model.qkvCols());
        projectValues(layer, intersect(groups, q + k, q + k + v), x, rest, block);
    });
    if (!barrier())
        return false;
    const int units = m_model.heads + 2 * m_model.kvHeads;
    const Share mine = shareOf(m_piece.rows * units, thread, m_pool.threads());
    for (int i = mine.begin; i < mine.end; ++i)
        finishHead(layer, index, i / units, i % units);
    return barrier();
}

// Bias, norm per head, rotation, cache write: whatever this layer has of them.
void StepRunner::finishHead(const PackedLayer& layer, int index, int row, int unit)
{
    const int block = m_piece.blocks[static_cast<std::size_t>(row)];
    const int slot = m_piece.positions[static_cast<std::size_t>(row)] % kBlockTokens;
    float* x = m_scratch.qkv + static_cast<std::ptrdiff_t>(row) * m_model.qkvCols();
    const bool isQuery = unit < m_model.heads;
    if (!isQuery && unit >= m_model.heads + m_model.kvHeads) {
        const int head = unit - m_model.heads - m_model.kvHeads, dims = m_model.headDimV;
        x += m_model.queryCols() + m_model.keyCols() + head * dims;
        if (layer.vBias)
            m_kernels.add(x, layer.vBias + head * dims, dims);
        m_cache->writeValue(m_kernels, index, head, block, slot, x);
        return;
    }

    const int head = isQuery ? unit : unit - m_model.heads, dims = m_model.headDimK;
    x += (isQuery ? 0 : m_model.queryCols()) + head * dims;
    if (const float* bias = isQuery ? layer.qBias : layer.kBias)
        m_kernels.add(x, bias + head * dims, dims);
    if (const float* norm = isQuery ? layer.qNorm : layer.kNorm)
        m_kernels.rmsNorm(x, norm, m_model.normEpsilon, dims, x);
    const RopeTable& rope = m_model.ropes[static_cast<std::size_t>(layer.rope)];
    if (rope.dims() > 0) {
        const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(row) * rope.dims();
        m_kernels.rotate(x, m_scratch.ropeCos[static_cast<std::size_t>(layer.rope)] + at,
                         m_scratch.ropeSin[static_cast<std::size_t>(layer.rope)] + at, rope.dims(), rope.pairing());
    }
    if (!isQuery)
        m_cache->writeKey(m_kernels, index, head, block, slot, x);
}

void StepRunner::attend(int layerIndex, const AttentionPlan& plan, int thread)
{
    const int window = m_model.layers[static_cast<std::size_t>(layerIndex)].window;
    AttentionTile tile;
    tile.blockStride = m_cache->blockStride();
    tile.valueOffset = m_cache->valueOffset();
    tile.type = m_cache->type();
    tile.headDimK = m_model.headDimK;
    tile.headDimV = m_model.headDimV;
    tile.scale = m_model.attentionScale;
    tile.softcap = m_model.attentionSoftcap;
    tile.scratch = m_scratch.threads[static_cast<std::size_t>(thread)].attention;
    m_sharing.runEach(thread, plan.threadBegin, [&](int i) {
        const AttentionItem& item = plan.items[static_cast<std::size_t>(i)];
        tile.keys = m_cache->tile(layerIndex, item.kvHead);
        tile.blockTable = m_piece.spans[static_cast<std::size_t>(item.span)].blockTable;
        tile.rows = item.tokens * item.heads;
        for (int r = 0; r < tile.rows; ++r) {
            const std::ptrdiff_t row = item.firstRow + r / item.heads;
            const int head = item.firstHead + r % item.heads;
            const int position = m_piece.positions[static_cast<std::size_t>(row)];
            tile.query[r] = m_scratch.qkv + row * m_model.qkvCols() + head * m_model.headDimK;
            tile.out[r] = m_scratch.attention + row * m_model.attentionCols() + head * m_model.headDimV;
            tile.firstKey[r] = firstVisible(position, window);
            tile.lastKey[r] = position;
        }
        if (item.piece < 0)
            m_kernels.attend(tile);
        else
            m_kernels.attendPiece(tile, item.piece,
                                  m_scratch.partials +
                                      static_cast<std::ptrdiff_t>(item.partialSlot) * partialFloats(m_model.headDimV));
    });
}

void StepRunner::mergeAttention(const AttentionPlan& plan, float* rows, float* room) const
{
    const std::ptrdiff_t slot = partialFloats(m_model.headDimV);
    for (const AttentionMerge& merge : plan.merges)
        for (int token = 0; token < merge.tokens; ++token)
            for (int head = 0; head < merge.heads; ++head)
                m_kernels.mergePartials(
                    m_scratch.partials + (merge.partialSlot + token * merge.heads + head) * slot,
                    slot * merge.tokens * merge.heads, merge.pieces, m_model.headDimV, room,
                    rows + static_cast<std::ptrdiff_t>(merge.firstRow + token) * m_model.attentionCols() +
                        (merge.firstHead + head) * m_model.headDimV);
}

void StepRunner::gateAndUp(const PackedLayer& layer, const Inputs& x, int thread)
{
    constexpr int kGroups = kGateColumns / kGroupRows;
    float* up = m_scratch.threads[static_cast<std::size_t>(thread)].up;
    const int groups = layer.gate.groupCount();

    m_sharing.runEach(thread, (groups + kGroups - 1) / kGroups * x.count, [&](int unit) {
        const int begin = unit / x.count * kGroups, end = std::min(groups, begin + kGroups), block = unit % x.count;
        const PackedMatrix upPart = groupsOf(layer.up, begin, end);
        const Activations& input = x.blocks[block];
        float* gate = m_scratch.feed + static_cast<std::ptrdiff_t>(block) * x.blockRows * m_model.feedForward;
        m_matmul.matmul(layer.gate, begin, end, input, gate, m_model.feedForward, false);
        m_matmul.matmul(upPart, 0, end - begin, input, up, kGateColumns, false);
        for (int row = 0; row < input.rows; ++row)
            m_kernels.gate(m_model.activation,
                           gate + static_cast<std::ptrdiff_t>(row) * m_model.feedForward + begin * kGroupRows,
                           up + row * kGateColumns, upPart.rows);
    });
}

// Norms and quantises the wanted rows of at most kPrivateRows for this thread alone.
void StepRunner::finalRowsOwn(const float* hidden, const float* postNorm, ThreadScratch& own)
{
    const int embedding = m_model.embedding, wanted = static_cast<int>(m_piece.logitRows.size());
    for (int i = 0; i < wanted; ++i) {
        const std::ptrdiff_t row = m_piece.logitRows[static_cast<std::size_t>(i)];
        float* x = own.rows + i * embedding;
        std::copy_n(hidden + row * embedding, embedding, x);
        addProjection(x, m_scratch.projection + row * embedding, postNorm, own.projection);
        m_kernels.rmsNorm(x, m_model.outputNorm, m_model.normEpsilon, embedding, x);
    }
    quantizeOwn(own.rows, wanted, embedding, needsFloatActivations(m_model.head.type), own.activations);
}

// Logits are looked at again while they are still in the cache, a chunk of the vocabulary at a time. Few rows read the
// head as fast as memory gives it and lose a hundredth by stopping so often.
void StepRunner::computeLogits(const Inputs& x, int thread)
{
    constexpr int kChunkGroups = kLogitChunk / kGroupRows;
    constexpr int kFewRows = 4, kChunksOfFew = 32;
    const PackedMatrix& head = m_model.head;
    shareGroups(head.groupCount(), head, x, thread, [&](Share groups, int block) {
        const int rows = x.blocks[block].rows;
        const int together = rows < kFewRows ? kChunksOfFew : 1;
        for (int begin = groups.begin, end; begin < groups.end; begin = end) {
            const int chunk = begin / kChunkGroups;
            end = std::min(groups.end, (chunk + together) * kChunkGroups);
            multiply(head, {begin, end}, x, block, m_piece.logits, m_model.vocabulary);
            for (int row = 0; row < rows; ++row)
                for (int c = chunk; c * kChunkGroups < end; ++c)
                    finishLogits({std::max(begin, c * kChunkGroups), std::min(end, (c + 1) * kChunkGroups)}, c,
                                 block * x.blockRows + row);
        }
    });
}

// Groups within one chunk.
void StepRunner::finishLogits(Share groups, int chunk, int row)
{
    const int first = groups.begin * kGroupRows;
    const int count = std::min(groups.end * kGroupRows, m_model.vocabulary) - first;
    const auto vocabulary = static_cast<std::size_t>(m_model.vocabulary);
    const auto i = static_cast<std::size_t>(row);
    float* logits = m_piece.logits + i * vocabulary + first;
    if (!m_kernels.allFinite(logits, count))
        m_badLogitRow.store(row, std::memory_order_relaxed);
    if (m_model.finalSoftcap > 0.0f)
        m_kernels.softcap(logits, m_model.finalSoftcap, count);

    // Two threads may share a chunk; the larger of their maxima is the same in either order.
    const float largest = m_kernels.largest(logits, count);
    std::atomic_ref<float> maximum(m_piece.chunkMaxima[i * logitChunks(vocabulary) + static_cast<std::size_t>(chunk)]);
    float known = maximum.load(std::memory_order_relaxed);
    while (known < largest && !maximum.compare_exchange_weak(known, largest, std::memory_order_relaxed)) {
    }
}

}  // namespace tokenscope::kernels
