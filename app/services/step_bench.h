// Runs bare steps of a model and times them: no scheduler, no sampling, whatever tokens. What the model itself takes,
// as other engines' batched benchmarks count it, and what a profile is made of.
//
// Computes on the calling thread and the backend's own.
#pragma once

#include "engine/base/clock.h"
#include "engine/loaded_model.h"

#include <array>
#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>

namespace tokenscope {

struct ProfiledStep {
    Nanoseconds ns = 0;                                        // the whole step, its planning included
    std::array<std::int64_t, kernels::kStageCount> stageNs{};  // together not more
};

class StepBench {
public:
    // A cache for `settings.batch` sequences of `settings.context` tokens, which must be given. Refuses a cache budget
    // that holds fewer.
    static Result<StepBench> load(const std::filesystem::path& path, const EngineSettings& settings,
                                  const LoadHooks& hooks);

    const LoadedModelInfo& info() const { return m_model->info; }

    // `tokens` of each of `sequences` from the beginning, as many rows a step as `prefill_chunk` says (512 where it
    // says nothing), the last row's logits of each. Cancelled between stages.
    Result<Nanoseconds> readPrompts(int sequences, int tokens);
    // One row of each of `sequences` at position `depth`, with logits.
    Result<Nanoseconds> decodeStep(int sequences, int depth);

    // A step of `rows` rows of one sequence behind `depth` tokens, the last one's logits. BadSetting on a device that
    // does not measure stages.
    Result<ProfiledStep> profileStep(int rows, int depth);
    StageCosts costsOf(int rows, int depth) const;

private:
    StepBench(std::unique_ptr<LoadedModel> model, const std::atomic<bool>& cancelled)
        : m_model(std::move(model)), m_cancelled(&cancelled)
    {
    }

    kernels::StepPlan planOf(int rows, int depth) const;
    void append(kernels::StepPlan& plan, int sequence, int position, int rows) const;
    Result<Nanoseconds> run(const kernels::StepPlan& plan);

    std::unique_ptr<LoadedModel> m_model;
    const std::atomic<bool>* m_cancelled;
};

}  // namespace tokenscope
