#include "kernels/cpu/packed_model.h"

#include <algorithm>
#include <cmath>
#include <new>

namespace tokenscope::kernels {
namespace {

// Between two looks at the cancel flag.
constexpr std::size_t kPieceBytes = std::size_t{16} << 20;

struct Entry {
    std::string name;
    const TensorView* source;
    PackedMatrix* matrix = nullptr;  // one of the two
    const float** vector = nullptr;
    std::size_t offset = 0;
    std::size_t bytes = 0;
};

std::size_t roundUp(std::size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

struct Plan {
    std::vector<Entry> entries;
    std::size_t bytes = 0;

    void matrix(std::string name, const TensorView& source, PackedMatrix& target)
    {
        entries.push_back(
            {std::move(name), &source, &target, nullptr, bytes,
             roundUp(packedBytes(source.type, static_cast<int>(source.rows), static_cast<int>(source.cols)))});
        bytes += entries.back().bytes;
    }
    void vector(std::string name, const TensorView& source, const float*& target)
    {
        if (!source)
            return;
        entries.push_back({std::move(name), &source, nullptr, &target, bytes,
                           roundUp(static_cast<std::size_t>(source.cols) * sizeof(float))});
        bytes += entries.back().bytes;
    }
};

// In the order a step reads them.
Plan planArena(const LayerProgram& program, PackedModel& model)
{
    Plan plan;
    model.layers.assign(program.layers.size(), {});
    if (!program.tiedHead)
        plan.matrix("the token embedding", program.tokenEmbedding, model.tokenEmbedding);
    for (std::size_t i = 0; i < program.layers.size(); ++i) {
        const LayerSpec& from = program.layers[i];
        PackedLayer& to = model.layers[i];
        const std::string layer = "layer " + std::to_string(i) + " ";
        plan.vector(layer + "attention norm", from.attnNorm, to.attnNorm);
        plan.matrix(layer + "query", from.q, to.q);
        plan.matrix(layer + "key", from.k, to.k);
        plan.matrix(layer + "value", from.v, to.v);
        plan.vector(layer + "query bias", from.qBias, to.qBias);
        plan.vector(layer + "key bias", from.kBias, to.kBias);
        plan.vector(layer + "value bias", from.vBias, to.vBias);
        plan.vector(layer + "query norm", from.qNorm, to.qNorm);
        plan.vector(layer + "key norm", from.kNorm, to.kNorm);
        plan.matrix(layer + "attention output", from.attnOutput, to.attnOutput);
        plan.vector(layer + "norm after attention", from.postAttnNorm, to.postAttnNorm);
        plan.vector(layer + "feed-forward norm", from.ffnNorm, to.ffnNorm);
        plan.matrix(layer + "gate", from.gate, to.gate);
        plan.matrix(layer + "up", from.up, to.up);
        plan.matrix(layer + "down", from.down, to.down);
        plan.vector(layer + "norm after feed-forward", from.postFfnNorm, to.postFfnNorm);
    }
    plan.vector("the output norm", program.outputNorm, model.outputNorm);
    plan.matrix(program.tiedHead ? "the token embedding" : "the head", program.head, model.head);
    return plan;
}

KernelError named(KernelError error, const PackedModel& model, const Entry& entry)
{
    error.message = model.name + ": " + entry.name + ": " + error.message;
    return error;
}

KernelResult<void> packMatrix(const Entry& entry, int groupBegin, int groupEnd, std::byte* base, ThreadPool& pool)
{
    std::vector<KernelResult<void>> results(static_cast<std::size_t>(pool.threads()));
    pool.run([&](int thread) {
        const Share share = shareOf(groupEnd - groupBegin, thread, pool.threads());
        if (share.begin < share.end)
            results[static_cast<std::size_t>(thread)] =
                packGroups(*entry.source, groupBegin + share.begin, groupBegin + share.end, base + entry.offset);
    });
    for (KernelResult<void>& result : results)
        if (!result)
            return result;
    return {};
}

// By way of a packed matrix of one row, so that every format a matrix may have serves for a vector too.
KernelResult<void> unpackVector(const Entry& entry, float* out, const MatmulKernels& matmul)
{
    const TensorView& source = *entry.source;
    auto packed = Arena::allocate(packedBytes(source.type, 1, static_cast<int>(source.cols)), entry.name);
    if (!packed)
        return tl::unexpected(packed.error());
    if (auto result = packGroups(source, 0, 1, packed->data()); !result)
        return result;
    matmul.unpackRow(packedView(source, packed->data()), 0, out);
    for (std::int64_t i = 0; i < source.cols; ++i)
        if (!std::isfinite(out[i]))
            return tl::unexpected(KernelError{KernelErrorCode::BadWeights,
                                              "element " + std::to_string(i) + " is infinite or not a number"});
    return {};
}

KernelResult<void> packAll(const Plan& plan, const LoadOptions& options, const MatmulKernels& matmul, ThreadPool& pool,
                           PackedModel& model)
{
    std::byte* base = model.arena.data();
    const auto cancelled = [&] { return options.cancelled && options.cancelled->load(std::memory_order_relaxed); };
    const auto report = [&](std::size_t bytes) {
        if (options.progress)
            options.progress(static_cast<double>(bytes) / static_cast<double>(std::max<std::size_t>(plan.bytes, 1)));
    };
    for (const Entry& entry : plan.entries) {
        if (cancelled())
            return tl::unexpected(KernelError{KernelErrorCode::Cancelled, "loading was cancelled"});
        if (entry.vector) {
            auto* out = reinterpret_cast<float*>(base + entry.offset);
            if (auto result = unpackVector(entry, out, matmul); !result)
                return tl::unexpected(named(result.error(), model, entry));
            *entry.vector = out;
            continue;
        }
        *entry.matrix = packedView(*entry.source, base + entry.offset);
        const int groups = entry.matrix->groupCount();
        const int step = std::max(pool.threads(),
                                  static_cast<int>(kPieceBytes / std::max<std::size_t>(entry.matrix->groupBytes, 1)));
        for (int group = 0; group < groups; group += step) {
            if (cancelled())
                return tl::unexpected(KernelError{KernelErrorCode::Cancelled, "loading was cancelled"});
            const int end = std::min(groups, group + step);
            if (auto result = packMatrix(entry, group, end, base, pool); !result)
                return tl::unexpected(named(result.error(), model, entry));
            report(entry.offset + entry.matrix->groupBytes * static_cast<std::size_t>(end));
        }
    }
    report(plan.bytes);
    return {};
}

void copyProperties(const LayerProgram& program, PackedModel& model)
{
    model.name = program.name;
    model.embedding = program.embedding;
    model.feedForward = program.feedForward;
    model.heads = program.heads;
    model.kvHeads = program.kvHeads;
    model.headDimK = program.headDimK;
    model.headDimV = program.headDimV;
    model.vocabulary = program.vocabulary;
    model.normEpsilon = program.normEpsilon;
    model.attentionScale = program.attentionScale;
    model.attentionSoftcap = program.attentionSoftcap;
    model.embeddingScale = program.embeddingScale;
    model.finalSoftcap = program.finalSoftcap;
    model.activation = program.activation;
    for (std::size_t i = 0; i < program.layers.size(); ++i) {
        const LayerSpec& from = program.layers[i];
        const auto known = std::find_if(model.ropes.begin(), model.ropes.end(),
                                        [&](const RopeTable& table) { return table.isFor(from.rope); });
        model.layers[i].rope = static_cast<int>(known - model.ropes.begin());
        model.layers[i].window = from.window;
        if (known == model.ropes.end())
            model.ropes.emplace_back(from.rope);
    }
}

}  // namespace

std::size_t packedModelBytes(const LayerProgram& program)
{
    PackedModel model;
    return arenaBytes(planArena(program, model).bytes);
}

KernelResult<PackedModel> packModel(const LayerProgram& program, const LoadOptions& options,
                                    const MatmulKernels& matmul, ThreadPool& pool)
{
    PackedModel model;
    const Plan plan = planArena(program, model);
    copyProperties(program, model);
    auto arena = Arena::allocate(plan.bytes, "the weights of " + program.name);
    if (!arena)
        return tl::unexpected(arena.error());
    model.arena = std::move(*arena);
    if (auto result = packAll(plan, options, matmul, pool, model); !result)
        return tl::unexpected(result.error());
    if (program.tiedHead)
        model.tokenEmbedding = model.head;
    return model;
}

}  // namespace tokenscope::kernels
