#include "tests/support/reference_values.h"

#include "engine/gguf/gguf_file.h"
#include "engine/model/model.h"
#include "tests/support/test_data.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace tokenscope::test {
namespace {

template <typename T>
T valueOrThrow(T&& result)
{
    if (!result)
        throw std::runtime_error(result.error().message);
    return std::forward<T>(result);
}

double logSumExp(std::span<const float> logits)
{
    const double largest = *std::max_element(logits.begin(), logits.end());
    double sum = 0.0;
    for (const float logit : logits)
        sum += std::exp(logit - largest);
    return largest + std::log(sum);
}

void compareStep(GreedyDifference& difference, double& logitSum, std::span<const float> logits, const GreedyStep& step)
{
    ++difference.steps;
    for (const auto& [id, expected] : step.top) {
        const double off = std::abs(double{logits[static_cast<std::size_t>(id)]} - expected);
        difference.largestLogit = std::max(difference.largestLogit, off);
        logitSum += off / static_cast<double>(step.top.size());
    }
    difference.largestLogSumExp = std::max(difference.largestLogSumExp, std::abs(logSumExp(logits) - step.logSumExp));
    const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
    if (best != step.id) {
        ++difference.otherIds;
        difference.largestMargin = std::max(difference.largestMargin, double{step.top[0].second} - step.top[1].second);
    }
}

}  // namespace

std::unique_ptr<kernels::DeviceModel> loadFile(const std::filesystem::path& path, kernels::Backend& backend)
{
    const auto file = valueOrThrow(GgufFile::open(path));
    const auto mapping = valueOrThrow(file->map());
    const auto program = valueOrThrow(buildLayerProgram(*file, **mapping));
    return std::move(*valueOrThrow(backend.load(*program, {})));
}

std::vector<GreedyPrompt> greedyPrompts(const std::string& model)
{
    const auto values = nlohmann::json::parse(readFile(dataPath("greedy.json")));
    std::vector<GreedyPrompt> prompts;
    for (const auto& entry : values.at(model)) {
        GreedyPrompt& prompt = prompts.emplace_back();
        prompt.ids = entry.at("ids").get<std::vector<std::int32_t>>();
        for (const auto& step : entry.at("steps"))
            prompt.steps.push_back({step.at("id"), step.at("top"), step.at("logsumexp")});
    }
    return prompts;
}

GreedyDifference compareGreedy(kernels::DeviceModel& model, std::span<const GreedyPrompt> prompts,
                               kernels::CacheType cache, int mostSteps)
{
    constexpr int kBlocks = 4;
    valueOrThrow(model.reserveCache({kBlocks, cache}));
    GreedyDifference difference;
    double logitSum = 0.0;
    for (const GreedyPrompt& prompt : prompts) {
        std::vector<std::int32_t> tokens = prompt.ids;
        std::int32_t done = 0;
        for (int i = 0; i < std::min(mostSteps, static_cast<int>(prompt.steps.size())); ++i) {
            const GreedyStep& step = prompt.steps[static_cast<std::size_t>(i)];
            kernels::StepPlan plan;
            plan.tokens = tokens;
            plan.sequences = {{0, plan.rows(), done, 0, kBlocks}};
            plan.blockTable = {2, 0, 3, 1};
            plan.logitRows = {plan.rows() - 1};
            const auto result = valueOrThrow(model.runStep(plan, nullptr));
            compareStep(difference, logitSum, result->logits, step);
            done += plan.rows();
            tokens = {step.id};
        }
    }
    difference.meanLogit = logitSum / std::max(1, difference.steps);
    return difference;
}

}  // namespace tokenscope::test
