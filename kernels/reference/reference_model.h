// A loaded model of the reference backend: the forward pass as it stands in a textbook, over the rows of a step plan.
// Used by one thread.
#pragma once

#include "kernels/backend.h"
#include "kernels/reference/paged_cache.h"
#include "kernels/reference/weights.h"

#include <memory>
#include <vector>

namespace tokenscope::kernels {

class ReferenceModel final : public DeviceModel {
public:
    // Rows computed at once. A step of more runs in pieces, which changes no bit (a row depends on its own sequence
    // only) and bounds the scratch.
    static constexpr int kPieceRows = 32;

    // Bytes of the buffers below without the cache's and the logits'.
    static std::size_t scratchBytes(const LayerProgram& program);

    // bad_alloc for the scratch; the caller turns it into OutOfMemory.
    ReferenceModel(const LayerProgram& program, FloatWeights weights);

    KernelResult<void> reserveCache(const CacheSpec& spec) override;
    KernelResult<StepResult> runStep(const StepPlan& plan, const std::atomic<bool>* cancelled) override;
    DeviceMemory memory() const override;

private:
    // A row of the piece in work: where it stands in its sequence, and that sequence's blocks.
    struct Row {
        std::int32_t token = 0;
        std::int64_t position = 0;
        std::span<const std::int32_t> table;
        int sequence = 0;  // index in the plan
    };

    bool computePiece(const std::atomic<bool>* cancelled);  // false: cancelled
    void attentionStage(int layer);
    void attendSequence(int layer, std::size_t rowBegin, std::size_t rowEnd);
    void feedForwardStage(int layer);
    void computeLogits(std::span<float> out, std::span<const std::int32_t> wanted, int firstRow);
    void multiply(std::vector<float>& out, const FloatMatrix& weights, const std::vector<float>& x);
    std::span<float> rowOf(std::vector<float>& buffer, int width, std::size_t row);

    LayerProgram m_program;  // properties only: its views point into a file that may be gone
    FloatWeights m_weights;
    PagedCache m_cache;
    std::vector<Row> m_rows;  // of the piece

    // [kPieceRows, width] each
    std::vector<float> m_hidden, m_normed, m_query, m_key, m_value, m_attended, m_stageOut, m_gate, m_up;
    std::vector<double> m_matmulScratch;
    // [cache tokens, head] of one kv head of one sequence, and a probability for each
    std::vector<float> m_keys, m_values;
    std::vector<double> m_probabilities;
    std::vector<float> m_logits;  // [logit rows of the last plan, vocabulary]; grows to the largest plan
    std::vector<float> m_chunkMaxima;
};

}  // namespace tokenscope::kernels
