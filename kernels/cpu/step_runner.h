// Runs steps on packed weights and a paged cache: the stages of every layer, shared between a team of threads.
//
// Up to kPrivateRows rows each thread keeps the residual stream for itself, norms and quantises it as often as there
// are threads, and meets the others five times a layer: after q, k, v and their cache write; attention; its output;
// gate and up; down. Above, rows are split between the threads for norms and quantising, which costs five barriers
// more. Both ways compute a row by the same operations in the same order.
#pragma once

#include "kernels/cpu/attention_plan.h"
#include "kernels/cpu/kv_cache.h"
#include "kernels/cpu/packed_model.h"
#include "kernels/cpu/step_kernels.h"
#include "kernels/cpu/step_scratch.h"
#include "kernels/cpu/thread_pool.h"
#include "kernels/cpu/work_sharing.h"

#include <atomic>
#include <vector>

namespace tokenscope::kernels {

// At most kMaxPieceRows rows of a step plan, computed through all layers before the next ones.
struct StepPiece {
    const std::int32_t* tokens = nullptr;
    int rows = 0;
    std::vector<RowSpan> spans;
    std::vector<int> positions;            // [rows]
    std::vector<std::int32_t> blocks;      // [rows] cache block a row's key and value go to
    std::vector<int> logitRows;            // within the piece
    std::vector<AttentionPlan> attention;  // by index of window
    float* logits = nullptr;               // [logitRows][vocabulary]
    float* chunkMaxima = nullptr;          // [logitRows][logitChunks(vocabulary)]
};

class StepRunner {
public:
    StepRunner(PackedModel model, StepScratch scratch, const MatmulKernels& matmul, const StepKernels& kernels,
               ThreadPool& pool);

    // The plan is consistent (kernels/checks.h). Cancelled, NotANumber, OutOfMemory (for the logits).
    KernelResult<StepResult> run(const StepPlan& plan, const KvCache& cache, const std::atomic<bool>* cancelled);

    void profile(StepProfile* profile) { m_profile = profile; }

    const PackedModel& model() const { return m_model; }
    std::size_t scratchBytes() const { return m_scratch.arena.bytes() + m_logits.bytes(); }
    KernelResult<void> reserveLogits(std::size_t rows);

private:
    // Where a stage writes its rows' input for the next matrix product.
    struct Inputs {
        const Activations* blocks;
        int count;
        int blockRows;
    };

    void cut(const StepPlan& plan, int firstRow, int rows);
    void planWindows();

    // All return false if the step was cancelled.
    bool runPiece(int thread);
    bool runSmall(int thread);
    bool runLarge(int thread);

    // The residual stream.
    void embed(int row, float* hidden) const;
    void addProjection(float* hidden, const float* projection, const float* postNorm, float* room) const;

    // Stages, each this thread's share.
    void fillRopes(int thread);
    void normRows(const float* hidden, const float* norm, int rows, float* out) const;
    void quantizeOwn(const float* x, int rows, int cols, bool forFloat, Activations& out) const;
    // Rows in units of kGroupRows, as threads may share quantising; prepare(row) makes the row of x first.
    template <typename Prepare>
    void quantizeShare(const std::vector<Activations>& blocks, const float* x, int cols, int rows, bool forFloat,
                       int thread, Prepare prepare)
    {
        const Share units = shareOf((rows + kGroupRows - 1) / kGroupRows, thread, m_pool.threads());
        for (int unit = units.begin; unit < units.end; ++unit) {
            const int begin = unit * kGroupRows, end = begin + kGroupRows < rows ? begin + kGroupRows : rows;
            for (int row = begin; row < end; ++row)
                prepare(row);
            const int block = begin / kBlockRows, blockBegin = block * kBlockRows;
            Activations input = blocks[static_cast<std::size_t>(block)];
            input.rows = rows - blockBegin < kBlockRows ? rows - blockBegin : kBlockRows;
            input.cols = cols;
            m_matmul.quantize(x + static_cast<std::ptrdiff_t>(blockBegin) * cols, cols, begin - blockBegin,
                              end - blockBegin, forFloat, input);
        }
    }
    void quantizeRestShare(int rows, int thread);
    void multiply(const PackedMatrix& weights, Share groups, const Inputs& x, int block, float* out, int stride,
                  bool accumulate = false) const;
    template <typename Multiply>
    void shareGroups(int groups, const PackedMatrix& weights, const Inputs& x, int thread, Multiply multiply);
    void multiplyShared(const PackedMatrix& weights, const Inputs& x, float* out, int stride, int thread);
    bool projectQkvByHead(const PackedLayer& layer, int index, const Inputs& x, const Inputs& rest, int thread);
    bool projectQkvByGroup(const PackedLayer& layer, int index, const Inputs& x, const Inputs& rest, int thread);
    void projectValues(const PackedLayer& layer, Share groups, const Inputs& x, const Inputs& rest, int block) const;
    void finishHead(const PackedLayer& layer, int index, int row, int unit);
    void attend(int layer, const AttentionPlan& plan, int thread);
    void mergeAttention(const AttentionPlan& plan, float* rows, float* room) const;
    void gateAndUp(const PackedLayer& layer, const Inputs& x, int thread);
    void computeLogits(const Inputs& x, int thread);
    void finishLogits(Share groups, int chunk, int row);
    void finalRowsOwn(const float* hidden, const float* postNorm, ThreadScratch& own);

    const AttentionPlan& attentionOf(const PackedLayer& layer) const;
    Inputs own(int thread) const
    {
        return {&m_scratch.threads[static_cast<std::size_t>(thread)].activations, 1, kPrivateRows};
    }
    Inputs ownRest(int thread) const
    {
        return {&m_scratch.threads[static_cast<std::size_t>(thread)].rest, 1, kPrivateRows};
    }
    Inputs shared(int thread, int rows, int cols);
    static Inputs inputs(std::vector<Activations>& blocks, int rows, int cols);
    Inputs sharedRest(int thread, int rows, int cols);
    bool barrier() { return m_pool.barrier(m_cancelled); }
    void mark(int thread, Stage stage)
    {
        if (m_profile && thread == 0)
            m_profile->add(stage);
    }

    PackedModel m_model;
    StepScratch m_scratch;
    const MatmulKernels& m_matmul;
    const StepKernels& m_kernels;
    ThreadPool& m_pool;
    WorkSharing m_sharing;
    Arena m_logits;
    std::vector<int> m_windows;  // the distinct ones
    StepProfile* m_profile = nullptr;
    bool m_headsFillGroups;  // a head is a whole number of 16-row groups

    // Of the step that runs.
    StepPiece m_piece;
    const KvCache* m_cache = nullptr;
    const std::atomic<bool>* m_cancelled = nullptr;
    std::atomic<int> m_badLogitRow{-1};
};

}  // namespace tokenscope::kernels
