// The published models on a backend, compared with tests/data/greedy.json: their logits when computed exactly.
#pragma once

#include "kernels/backend.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tokenscope::test {

// A failure is the message of an exception: tests only.
std::unique_ptr<kernels::DeviceModel> loadFile(const std::filesystem::path& path, kernels::Backend& backend);

struct GreedyStep {
    std::int32_t id = 0;
    std::vector<std::pair<std::int32_t, float>> top;  // the five largest logits
    double logSumExp = 0.0;
};
struct GreedyPrompt {
    std::vector<std::int32_t> ids;
    std::vector<GreedyStep> steps;
};
std::vector<GreedyPrompt> greedyPrompts(const std::string& model);  // "smollm2" or "gemma3"

// How far a backend is from the reference values over some steps.
struct GreedyDifference {
    int steps = 0;
    double largestLogit = 0.0;
    double meanLogit = 0.0;
    double largestLogSumExp = 0.0;
    int otherIds = 0;            // greedy choices that differ
    double largestMargin = 0.0;  // between the two best logits of the file, where the choice differs
};

// Feeds prompt and ids of the file, so that one flipped near-tie does not spoil the rest. The prompt is one step, every
// further id one more, as an engine would. At most `mostSteps` of each prompt.
GreedyDifference compareGreedy(kernels::DeviceModel& model, std::span<const GreedyPrompt> prompts,
                               kernels::CacheType cache, int mostSteps);

}  // namespace tokenscope::test
