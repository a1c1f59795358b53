#include "kernels/cpu/step_scratch.h"

#include "kernels/cpu/rope.h"
#include "kernels/cpu/step_kernels.h"

#include <algorithm>

namespace tokenscope::kernels {
namespace {

// Lays buffers out one after the other; without a base it only counts.
class Cursor {
public:
    explicit Cursor(std::byte* base) : m_base(base) {}

    std::byte* take(std::size_t bytes)
    {
        std::byte* here = m_base ? m_base + m_used : nullptr;
        m_used += (bytes + 63) / 64 * 64;
        return here;
    }
    float* floats(int rows, int cols)
    {
        return reinterpret_cast<float*>(
            take(static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols) * sizeof(float)));
    }
    Activations activations(int rows, int cols)
    {
        Activations result;
        result.capacityBytes = activationBytes(rows, cols);
        result.data = take(result.capacityBytes);
        return result;
    }
    std::size_t used() const { return m_used; }

private:
    std::byte* m_base;
    std::size_t m_used = 0;
};

std::size_t layOut(const ScratchShape& shape, std::byte* base, StepScratch& scratch)
{
    Cursor cursor(base);
    scratch.hidden = cursor.floats(kMaxPieceRows, shape.embedding);
    scratch.normed = cursor.floats(kMaxPieceRows, shape.embedding);
    scratch.projection = cursor.floats(kMaxPieceRows, shape.embedding);
    scratch.qkv = cursor.floats(kMaxPieceRows, shape.qkvCols);
    scratch.attention = cursor.floats(kMaxPieceRows, shape.attentionCols);
    scratch.feed = cursor.floats(kMaxPieceRows, shape.feedForward);
    scratch.partials = cursor.floats(kPartialSlots, partialFloats(shape.headDimV));
    for (const int dims : shape.ropeDims) {
        scratch.ropeCos.push_back(cursor.floats(kMaxPieceRows, dims));
        scratch.ropeSin.push_back(cursor.floats(kMaxPieceRows, dims));
    }
    for (int row = 0; row < kMaxPieceRows; row += kBlockRows) {
        scratch.blocks.push_back(cursor.activations(kBlockRows, shape.maxCols()));
        scratch.rests.push_back(cursor.activations(kBlockRows, shape.embedding));
    }
    for (int thread = 0; thread < shape.threads; ++thread) {
        ThreadScratch own;
        own.hidden = cursor.floats(kPrivateRows, shape.embedding);
        own.rows = cursor.floats(kPrivateRows, std::max(shape.embedding, shape.attentionCols));
        own.projection = cursor.floats(1, shape.embedding);
        own.up = cursor.floats(kBlockRows, kGateColumns);
        own.attention = cursor.floats(1, static_cast<int>(attentionScratchFloats(shape.headDimK, shape.headDimV)));
        own.activations = cursor.activations(kPrivateRows, shape.maxCols());
        own.rest = cursor.activations(kPrivateRows, shape.embedding);
        own.sharedBlocks = scratch.blocks;
        own.sharedRests = scratch.rests;
        scratch.threads.push_back(own);
        cursor.take(4096);  // threads write side by side: keep their pages' ends apart
    }
    return cursor.used();
}

}  // namespace

ScratchShape ScratchShape::of(const LayerProgram& program, int threads)
{
    ScratchShape shape;
    shape.threads = threads;
    shape.embedding = program.embedding;
    shape.feedForward = program.feedForward;
    shape.qkvCols = (program.heads + program.kvHeads) * program.headDimK + program.kvHeads * program.headDimV;
    shape.attentionCols = program.heads * program.headDimV;
    shape.headDimK = program.headDimK;
    shape.headDimV = program.headDimV;
    std::vector<RopeTable> tables;
    for (const LayerSpec& layer : program.layers)
        if (std::none_of(tables.begin(), tables.end(), [&](const RopeTable& t) { return t.isFor(layer.rope); })) {
            tables.emplace_back(layer.rope);
            shape.ropeDims.push_back(layer.rope.dims);
        }
    return shape;
}

int ScratchShape::maxCols() const
{
    return std::max({embedding, feedForward, attentionCols});
}

KernelResult<StepScratch> StepScratch::allocate(const ScratchShape& shape)
{
    StepScratch scratch;
    auto arena = Arena::allocate(stepScratchBytes(shape), "the working memory of a step");
    if (!arena)
        return tl::unexpected(arena.error());
    scratch.arena = std::move(*arena);
    layOut(shape, scratch.arena.data(), scratch);
    return scratch;
}

std::size_t stepScratchBytes(const ScratchShape& shape)
{
    StepScratch counted;
    return arenaBytes(layOut(shape, nullptr, counted));
}

}  // namespace tokenscope::kernels
