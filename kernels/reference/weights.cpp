#include "kernels/reference/weights.h"

#include "kernels/reference/dequantize.h"
#include "kernels/reference/operations.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <string>

namespace tokenscope::kernels {
namespace {

tl::unexpected<KernelError> error(KernelErrorCode code, std::string message)
{
    return tl::unexpected(KernelError{code, std::move(message)});
}

// Calls visit(name, view, matrix) for every tensor of the model, tied head excepted, in the order of computation.
template <typename Visit>
void eachTensor(const LayerProgram& program, FloatWeights& weights, Visit visit)
{
    visit("token embedding", program.tokenEmbedding, weights.tokenEmbedding);
    weights.layers.resize(program.layers.size());
    for (std::size_t i = 0; i < program.layers.size(); ++i) {
        const LayerSpec& spec = program.layers[i];
        FloatLayer& layer = weights.layers[i];
        const std::string prefix = "layer " + std::to_string(i) + " ";
        visit(prefix + "attention norm", spec.attnNorm, layer.attnNorm);
        visit(prefix + "query", spec.q, layer.q);
        visit(prefix + "key", spec.k, layer.k);
        visit(prefix + "value", spec.v, layer.v);
        visit(prefix + "query bias", spec.qBias, layer.qBias);
        visit(prefix + "key bias", spec.kBias, layer.kBias);
        visit(prefix + "value bias", spec.vBias, layer.vBias);
        visit(prefix + "query norm", spec.qNorm, layer.qNorm);
        visit(prefix + "key norm", spec.kNorm, layer.kNorm);
        visit(prefix + "attention output", spec.attnOutput, layer.attnOutput);
        visit(prefix + "norm after attention", spec.postAttnNorm, layer.postAttnNorm);
        visit(prefix + "feed-forward norm", spec.ffnNorm, layer.ffnNorm);
        visit(prefix + "gate", spec.gate, layer.gate);
        visit(prefix + "up", spec.up, layer.up);
        visit(prefix + "down", spec.down, layer.down);
        visit(prefix + "norm after feed-forward", spec.postFfnNorm, layer.postFfnNorm);
    }
    visit("output norm", program.outputNorm, weights.outputNorm);
    if (program.head.data != program.tokenEmbedding.data)
        visit("head", program.head, weights.ownHead);
}

std::size_t elementsOf(const TensorView& view)
{
    return static_cast<std::size_t>(view.rows) * static_cast<std::size_t>(view.cols);
}

KernelResult<FloatMatrix> dequantize(const std::string& name, const TensorView& view)
{
    FloatMatrix matrix;
    if (!view)
        return matrix;
    matrix.values.reset(new (std::nothrow) float[elementsOf(view)]);
    matrix.rows = static_cast<int>(view.rows);
    matrix.cols = static_cast<int>(view.cols);
    if (!matrix.values)
        return error(KernelErrorCode::OutOfMemory, name + " takes " + std::to_string(elementsOf(view) * sizeof(float)) +
                                                       " bytes as f32, and the system gave none");
    for (int r = 0; r < matrix.rows; ++r) {
        float* const out = matrix.values.get() + static_cast<std::size_t>(r) * static_cast<std::size_t>(matrix.cols);
        dequantizeRow(view.type, view.row(r), out, view.cols);
        if (!std::all_of(out, out + matrix.cols, [](float v) { return std::isfinite(v); }))
            return error(KernelErrorCode::BadWeights, name + " holds an infinity or NaN in row " + std::to_string(r) +
                                                          " of " + std::to_string(matrix.rows) +
                                                          ": the file is damaged");
    }
    return matrix;
}

}  // namespace

std::size_t floatWeightBytes(const LayerProgram& program)
{
    FloatWeights none;
    std::size_t bytes = 0;
    eachTensor(program, none, [&](const std::string&, const TensorView& view, FloatMatrix&) {
        bytes += view ? elementsOf(view) * sizeof(float) : 0;
    });
    return bytes;
}

KernelResult<FloatWeights> loadWeights(const LayerProgram& program, const LoadOptions& options)
{
    FloatWeights weights;
    const auto total = static_cast<double>(floatWeightBytes(program));
    double done = 0.0;
    KernelResult<void> outcome;
    eachTensor(program, weights, [&](const std::string& name, const TensorView& view, FloatMatrix& out) {
        if (!outcome)
            return;
        if (options.cancelled != nullptr && options.cancelled->load(std::memory_order_relaxed)) {
            outcome = error(KernelErrorCode::Cancelled, "loading was cancelled before " + name);
            return;
        }
        auto matrix = dequantize(program.name + ": " + name, view);
        if (!matrix) {
            outcome = tl::unexpected(std::move(matrix.error()));
            return;
        }
        out = std::move(*matrix);
        done += view ? static_cast<double>(elementsOf(view) * sizeof(float)) : 0.0;
        if (options.progress)
            options.progress(done / total);
    });
    if (!outcome)
        return tl::unexpected(std::move(outcome.error()));
    for (std::size_t i = 0; i < program.layers.size(); ++i)
        weights.layers[i].ropeFrequencies = ropeFrequencies(program.layers[i].rope);
    return weights;
}

}  // namespace tokenscope::kernels
