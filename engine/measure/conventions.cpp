// How other tools name and count the same times; sources are their metric definitions, compared in metrics.md.
#include "engine/measure/metrics.h"

#include "engine/measure/trace_times.h"

namespace tokenscope {

ConventionMetrics computeConventions(const RequestTrace& trace)
{
    ConventionMetrics metrics;
    if (trace.tokens.empty())
        return metrics;

    const Nanoseconds start = trace.scheduledNs.value_or(trace.submittedNs);
    const Nanoseconds first = trace.tokens.front().committedNs;
    const Nanoseconds last = trace.tokens.back().committedNs;
    const auto count = static_cast<double>(trace.tokens.size());
    const std::vector<CommittedStep> steps = committedSteps(trace);
    metrics.ttftMs = milliseconds(start, first);
    metrics.normalisedMs = milliseconds(start, last) / count;
    metrics.tpotMs = timePerOutputTokenMs(trace);
    metrics.stepGapsMs = gapsMs(steps);

    metrics.vllmTpotMs = metrics.tpotMs;
    metrics.aiperfItlMs = metrics.tpotMs;
    metrics.guidellmItlMs = metrics.tpotMs;
    metrics.guidellmTpotMs = milliseconds(trace.submittedNs, last) / count;
    metrics.llmperfItlMs = metrics.guidellmTpotMs;
    // The tokens that came with the first step took none of the time after it.
    const double laterTokens = count - steps.front().tokens;
    if (laterTokens > 0)
        metrics.aiperfChunkAwareItlMs = milliseconds(first, last) / laterTokens;
    if (metrics.tpotMs)
        metrics.mlperfTpotMs = *metrics.tpotMs;
    else
        metrics.mlperfTpotMs =
            fail(ErrorCode::BadInput, "MLPerf's TPOT needs at least 2 output tokens, this answer has 1");
    return metrics;
}

}  // namespace tokenscope
