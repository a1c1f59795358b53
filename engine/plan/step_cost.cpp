#include "engine/plan/budget.h"

#include <algorithm>

namespace tokenscope {
namespace {

using kernels::LayerProgram;
using kernels::LayerSpec;
using kernels::SequenceSlice;
using kernels::TensorView;

std::uint64_t elements(const TensorView& view)
{
    return view ? static_cast<std::uint64_t>(view.rows) * static_cast<std::uint64_t>(view.cols) : 0;
}

std::uint64_t bytes(const TensorView& view)
{
    return view ? view.bytes() : 0;
}

std::uint64_t layerWeightBytes(const LayerSpec& layer)
{
    std::uint64_t sum = 0;
    for (const TensorView* view : {&layer.attnNorm, &layer.q, &layer.k, &layer.v, &layer.qBias, &layer.kBias,
                                   &layer.vBias, &layer.qNorm, &layer.kNorm, &layer.attnOutput, &layer.postAttnNorm,
                                   &layer.ffnNorm, &layer.gate, &layer.up, &layer.down, &layer.postFfnNorm})
        sum += bytes(*view);
    return sum;
}

std::uint64_t layerMatrixElements(const LayerSpec& layer)
{
    std::uint64_t sum = 0;
    for (const TensorView* view :
         {&layer.q, &layer.k, &layer.v, &layer.attnOutput, &layer.gate, &layer.up, &layer.down})
        sum += elements(*view);
    return sum;
}

// Keys that at least one row of the piece sees, its own included: a row at position p sees positions above p − window.
std::uint64_t keysRead(const SequenceSlice& piece, int window)
{
    const std::uint64_t all = static_cast<std::uint64_t>(piece.kvLength) + static_cast<std::uint64_t>(piece.rows);
    if (window <= 0)
        return all;
    return std::min(all, static_cast<std::uint64_t>(window) + static_cast<std::uint64_t>(piece.rows) - 1);
}

// Σ over the rows of the keys each sees: min(p + 1, window), p from kvLength on.
std::uint64_t keysSeen(const SequenceSlice& piece, int window)
{
    const auto first = static_cast<std::uint64_t>(piece.kvLength) + 1;
    const auto last = static_cast<std::uint64_t>(piece.kvLength) + static_cast<std::uint64_t>(piece.rows);
    const auto sumFromTo = [](std::uint64_t from, std::uint64_t to) { return (from + to) * (to - from + 1) / 2; };
    if (piece.rows <= 0)
        return 0;
    const auto limit = static_cast<std::uint64_t>(window);
    if (window <= 0 || last <= limit)
        return sumFromTo(first, last);
    if (first >= limit)
        return static_cast<std::uint64_t>(piece.rows) * limit;
    return sumFromTo(first, limit) + (last - limit) * limit;
}

}  // namespace

StepCost stepCost(const LayerProgram& program, const kernels::StepPlan& plan, kernels::CacheType cache)
{
    StepCost cost;
    const auto rows = static_cast<std::uint64_t>(plan.rows());
    const auto logitRows = static_cast<std::uint64_t>(plan.logitRows.size());
    if (rows == 0)
        return cost;
    const auto headDims = static_cast<std::uint64_t>(program.headDimK) + static_cast<std::uint64_t>(program.headDimV);
    const std::uint64_t elementBytes = cache == kernels::CacheType::F16 ? 2 : 4;
    const std::uint64_t kvBytesPerKey = static_cast<std::uint64_t>(program.kvHeads) * headDims * elementBytes;
    const std::uint64_t macsPerKey = static_cast<std::uint64_t>(program.heads) * headDims;

    for (const LayerSpec& layer : program.layers) {
        cost.weightBytes += layerWeightBytes(layer);
        cost.macs += rows * layerMatrixElements(layer);
        for (const SequenceSlice& piece : plan.sequences) {
            cost.kvReadBytes += keysRead(piece, layer.window) * kvBytesPerKey;
            cost.macs += keysSeen(piece, layer.window) * macsPerKey;
        }
        cost.kvWriteBytes += rows * kvBytesPerKey;
    }
    const bool headRead = logitRows > 0;
    if (headRead) {
        cost.weightBytes += bytes(program.outputNorm) + bytes(program.head);
        cost.macs += logitRows * elements(program.head);
    }
    // A tied head reads the whole table, the rows of the tokens among it.
    if (!headRead || !program.tiedHead)
        cost.weightBytes += rows * kernels::rowBytes(program.tokenEmbedding.type, program.tokenEmbedding.cols);
    return cost;
}

}  // namespace tokenscope
