#include "app/services/step_bench.h"

#include "engine/device.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace tokenscope {
namespace {

constexpr int kUsualChunk = 512;  // rows of prompt a step, as llama.cpp's n_ubatch

int blocksFor(int tokens)
{
    return (tokens + kernels::kBlockTokens - 1) / kernels::kBlockTokens;
}

// The same at every run, and no two rows of a step alike: words make no difference to the time.
std::int32_t tokenAt(int sequence, int position, int vocabulary)
{
    const std::uint64_t mixed = static_cast<std::uint64_t>(sequence) * 104'729 + static_cast<std::uint64_t>(position);
    return static_cast<std::int32_t>((mixed * 7'919 + 13) % static_cast<std::uint64_t>(vocabulary));
}

}  // namespace

Result<StepBench> StepBench::load(const std::filesystem::path& path, const EngineSettings& settings,
                                  const LoadHooks& hooks)
{
    auto prepared = makeFileLoader(systemMemoryLimit())->prepare(path, settings);
    if (!prepared)
        return tl::unexpected(std::move(prepared.error()));
    auto model = (*prepared)->load(hooks);
    if (!model)
        return tl::unexpected(std::move(model.error()));
    const int wanted = settings.batch * blocksFor((*model)->info.context);
    if ((*model)->info.blockCount < wanted)
        return fail(ErrorCode::BadSetting,
                    "kv_budget={}: holds {} blocks of {} tokens, {} sequences of {} tokens need {}; give a "
                    "larger one or leave it out",
                    settings.kvBudgetBytes, (*model)->info.blockCount, kernels::kBlockTokens, settings.batch,
                    (*model)->info.context, wanted);
    return StepBench(std::move(*model), hooks.cancelled);
}

Result<Nanoseconds> StepBench::readPrompts(int sequences, int tokens)
{
    const int asked = m_model->settings.prefillChunk;
    const int chunk = asked == kWholePrompt ? sequences * tokens : asked > 0 ? asked : kUsualChunk;
    Nanoseconds total = 0;
    kernels::StepPlan plan;
    for (int sequence = 0; sequence < sequences; ++sequence) {
        for (int done = 0; done < tokens;) {
            const int rows = std::min(tokens - done, chunk - plan.rows());
            append(plan, sequence, done, rows);
            done += rows;
            if (done == tokens)
                plan.logitRows.push_back(plan.rows() - 1);
            if (plan.rows() < chunk && (done < tokens || sequence + 1 < sequences))
                continue;
            const auto ns = run(plan);
            if (!ns)
                return ns;
            total += *ns;
            plan = {};
        }
    }
    return total;
}

Result<Nanoseconds> StepBench::decodeStep(int sequences, int depth)
{
    kernels::StepPlan plan;
    for (int sequence = 0; sequence < sequences; ++sequence) {
        append(plan, sequence, depth, 1);
        plan.logitRows.push_back(sequence);
    }
    return run(plan);
}

kernels::StepPlan StepBench::planOf(int rows, int depth) const
{
    kernels::StepPlan plan;
    append(plan, 0, depth, rows);
    plan.logitRows.push_back(rows - 1);
    return plan;
}

Result<ProfiledStep> StepBench::profileStep(int rows, int depth)
{
    kernels::StepProfile profile;
    if (!m_model->device->profile(&profile))
        return fail(ErrorCode::BadSetting, "--profile: the device {} does not measure its stages; use --device cpu",
                    m_model->info.device);
    const auto ns = run(planOf(rows, depth));
    m_model->device->profile(nullptr);
    if (!ns)
        return tl::unexpected(ns.error());
    return ProfiledStep{*ns, profile.ns()};
}

StageCosts StepBench::costsOf(int rows, int depth) const
{
    return m_model->stageCosts(planOf(rows, depth));
}

void StepBench::append(kernels::StepPlan& plan, int sequence, int position, int rows) const
{
    const int blocksEach = blocksFor(m_model->info.context);
    const int used = blocksFor(position + rows);
    plan.sequences.push_back({plan.rows(), rows, position, static_cast<std::int32_t>(plan.blockTable.size()), used});
    for (int block = 0; block < used; ++block)
        plan.blockTable.push_back(sequence * blocksEach + block);
    for (int row = 0; row < rows; ++row)
        plan.tokens.push_back(tokenAt(sequence, position + row, m_model->info.model.vocabulary));
}

Result<Nanoseconds> StepBench::run(const kernels::StepPlan& plan)
{
    const Nanoseconds before = systemClock().now();
    const auto computed = m_model->device->runStep(plan, m_cancelled);
    const Nanoseconds after = systemClock().now();
    if (!computed)
        return tl::unexpected(toError(computed.error()));
    return after - before;
}

}  // namespace tokenscope
