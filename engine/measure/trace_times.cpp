#include "engine/measure/trace_times.h"

namespace tokenscope {

std::vector<CommittedStep> committedSteps(const RequestTrace& trace)
{
    std::vector<CommittedStep> steps;
    std::uint32_t stepId = 0;
    for (const TokenStamp& token : trace.tokens) {
        if (steps.empty() || token.stepId != stepId)
            steps.push_back({token.committedNs, 0, token.draftedInStep});
        ++steps.back().tokens;
        stepId = token.stepId;
    }
    return steps;
}

std::vector<double> gapsMs(const std::vector<CommittedStep>& steps)
{
    std::vector<double> gaps;
    for (std::size_t i = 1; i < steps.size(); ++i)
        gaps.push_back(milliseconds(steps[i - 1].committedNs, steps[i].committedNs));
    return gaps;
}

std::optional<double> timePerOutputTokenMs(const RequestTrace& trace)
{
    if (trace.tokens.size() < 2)
        return std::nullopt;
    return milliseconds(trace.tokens.front().committedNs, trace.tokens.back().committedNs) /
           static_cast<double>(trace.tokens.size() - 1);
}

}  // namespace tokenscope
