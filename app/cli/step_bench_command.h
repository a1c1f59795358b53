// The parts of `bench` that time bare steps: `--sequences`, `--rows` and `--profile`.
#pragma once

#include "app/cli/bench_table.h"
#include "app/cli/command_line.h"
#include "engine/types/model_info.h"

#include <string>
#include <vector>

namespace tokenscope::cli {

struct StepBenchOptions {
    std::vector<int> sequences;  // of --sequences, else empty
    std::vector<int> rows;       // of --rows, else empty
    bool profile = false;
    std::vector<int> prompt;  // -p, -n, -d as given or their defaults
    std::vector<int> output;
    std::vector<int> depth;
    int repetitions = 5;
};

// What was measured, and with what.
struct StepBenchResult {
    LoadedModelInfo model;
    EngineSettings engine;
    StepTables tables;
};
Result<StepBenchResult> benchSteps(const CommonOptions& options, const StepBenchOptions& wanted);

}  // namespace tokenscope::cli
