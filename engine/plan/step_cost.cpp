#include "engine/plan/budget.h"

#include <algorithm>
#include <initializer_list>

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

void addProduct(StepCost& cost, std::uint64_t rows, std::initializer_list<const TensorView*> matrices)
{
    for (const TensorView* matrix : matrices) {
        cost.weightBytes += bytes(*matrix);
        cost.macs += rows * elements(*matrix);
    }
}

void addVectors(StepCost& cost, std::initializer_list<const TensorView*> vectors)
{
    for (const TensorView* vector : vectors)
        cost.weightBytes += bytes(*vector);
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

StageCosts stageCosts(const LayerProgram& program, const kernels::StepPlan& plan, kernels::CacheType cache)
{
    using kernels::Stage;
    StageCosts costs;
    const auto of = [&](Stage stage) -> StepCost& { return costs[static_cast<std::size_t>(stage)]; };
    const auto rows = static_cast<std::uint64_t>(plan.rows());
    const auto logitRows = static_cast<std::uint64_t>(plan.logitRows.size());
    if (rows == 0)
        return costs;
    const auto headDims = static_cast<std::uint64_t>(program.headDimK) + static_cast<std::uint64_t>(program.headDimV);
    const std::uint64_t elementBytes = cache == kernels::CacheType::F16 ? 2 : 4;
    const std::uint64_t kvBytesPerKey = static_cast<std::uint64_t>(program.kvHeads) * headDims * elementBytes;
    const std::uint64_t macsPerKey = static_cast<std::uint64_t>(program.heads) * headDims;

    for (const LayerSpec& layer : program.layers) {
        addVectors(of(Stage::Norms), {&layer.attnNorm, &layer.postAttnNorm, &layer.ffnNorm, &layer.postFfnNorm});
        addProduct(of(Stage::Qkv), rows, {&layer.q, &layer.k, &layer.v});
        addVectors(of(Stage::Qkv), {&layer.qBias, &layer.kBias, &layer.vBias, &layer.qNorm, &layer.kNorm});
        of(Stage::Qkv).kvWriteBytes += rows * kvBytesPerKey;
        for (const SequenceSlice& piece : plan.sequences) {
            of(Stage::Attention).kvReadBytes += keysRead(piece, layer.window) * kvBytesPerKey;
            of(Stage::Attention).macs += keysSeen(piece, layer.window) * macsPerKey;
        }
        addProduct(of(Stage::AttentionOutput), rows, {&layer.attnOutput});
        addProduct(of(Stage::GateUp), rows, {&layer.gate, &layer.up});
        addProduct(of(Stage::Down), rows, {&layer.down});
    }
    const bool headRead = logitRows > 0;
    if (headRead) {
        addVectors(of(Stage::Norms), {&program.outputNorm});
        addProduct(of(Stage::Head), logitRows, {&program.head});
    }
    // A tied head reads the whole table, the rows of the tokens among it.
    if (!headRead || !program.tiedHead)
        of(Stage::Embedding).weightBytes +=
            rows * kernels::rowBytes(program.tokenEmbedding.type, program.tokenEmbedding.cols);
    return costs;
}

StepCost stepCost(const LayerProgram& program, const kernels::StepPlan& plan, kernels::CacheType cache)
{
    StepCost sum;
    for (const StepCost& cost : stageCosts(program, plan, cache)) {
        sum.weightBytes += cost.weightBytes;
        sum.kvReadBytes += cost.kvReadBytes;
        sum.kvWriteBytes += cost.kvWriteBytes;
        sum.macs += cost.macs;
    }
    return sum;
}

}  // namespace tokenscope
