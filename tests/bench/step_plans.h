// Steps as the benchmarks time them: tokens and block tables without anything that would make them an answer.
#pragma once

#include "kernels/step_plan.h"

namespace tokenscope::bench {

enum class StepKind { Decode, Prompt };  // one row of each of many sequences, or all rows of one

// Every sequence has `past` tokens in the cache, whatever stands there.
inline kernels::StepPlan makeStepPlan(StepKind kind, int rows, int past, int vocabulary)
{
    kernels::StepPlan plan;
    for (int row = 0; row < rows; ++row)
        plan.tokens.push_back((row * 7919 + 13) % vocabulary);
    const int sequences = kind == StepKind::Decode ? rows : 1;
    const int rowsEach = rows / sequences;
    const int blocksEach = (past + rowsEach + kernels::kBlockTokens - 1) / kernels::kBlockTokens;
    for (int s = 0; s < sequences; ++s) {
        plan.sequences.push_back({s * rowsEach, rowsEach, past, s * blocksEach, blocksEach});
        for (int block = 0; block < blocksEach; ++block)
            plan.blockTable.push_back(s * blocksEach + block);
        plan.logitRows.push_back((s + 1) * rowsEach - 1);
    }
    return plan;
}

}  // namespace tokenscope::bench
