#include "engine/measure/metrics.h"

#include "engine/measure/trace_times.h"

namespace tokenscope {
namespace {

// Of the prompt, up to the first token: a request that was pre-empted computes parts of it again later.
struct Prefill {
    std::optional<Nanoseconds> endNs;  // absent while prompt tokens are missing
    int computedTokens = 0;
};

Prefill prefillOf(const RequestTrace& trace)
{
    Prefill prefill;
    std::optional<Nanoseconds> lastEnd;
    for (const ChunkStamp& chunk : trace.chunks) {
        if (!trace.tokens.empty() && chunk.endNs > trace.tokens.front().committedNs)
            break;
        prefill.computedTokens += chunk.tokens;
        lastEnd = chunk.endNs;
    }
    if (prefill.computedTokens + trace.cachedTokens >= trace.promptTokens)
        prefill.endNs = lastEnd;
    return prefill;
}

struct Work {
    double bytes = 0.0;
    double macs = 0.0;
    double computeSeconds = 0.0;  // start → computed
    double stepSeconds = 0.0;     // start → end
};

Work workOf(const RequestTrace& trace, bool prefill)
{
    Work work;
    for (const StepRecord& step : trace.steps) {
        if ((step.prefillRows > 0) != prefill)
            continue;
        work.bytes += static_cast<double>(step.weightBytes) + static_cast<double>(step.kvReadBytes) +
                      static_cast<double>(step.kvWriteBytes);
        work.macs += static_cast<double>(step.macs);
        work.computeSeconds += milliseconds(step.startNs, step.computedNs) * 1e-3;
        work.stepSeconds += milliseconds(step.startNs, step.endNs) * 1e-3;
    }
    return work;
}

std::optional<double> share(double amount, double seconds, double ceilingPerSecond)
{
    if (!(seconds > 0.0) || !(ceilingPerSecond > 0.0))
        return std::nullopt;
    return amount / seconds / ceilingPerSecond;
}

std::optional<double> perSecond(double count, std::optional<double> ms)
{
    if (!ms || !(*ms > 0.0) || !(count > 0.0))
        return std::nullopt;
    return count / (*ms * 1e-3);
}

void addLatencies(RequestMetrics& metrics, const RequestTrace& trace)
{
    const Nanoseconds start = trace.scheduledNs.value_or(trace.submittedNs);
    const Prefill prefill = prefillOf(trace);
    metrics.clientQueueMs = milliseconds(trace.scheduledNs, trace.submittedNs);
    metrics.tokenizeMs = milliseconds(trace.submittedNs, trace.tokenisedNs);
    metrics.queueMs = milliseconds(trace.tokenisedNs, trace.admittedNs);
    metrics.prefillMs = milliseconds(trace.admittedNs, prefill.endNs);
    metrics.prefillTokensPerSecond = perSecond(prefill.computedTokens, metrics.prefillMs);
    metrics.e2eMs = milliseconds(start, trace.stoppedNs);
    if (trace.tokens.empty())
        return;

    const Nanoseconds first = trace.tokens.front().committedNs;
    const Nanoseconds last = trace.tokens.back().committedNs;
    const auto count = static_cast<double>(trace.tokens.size());
    metrics.firstSampleMs = milliseconds(prefill.endNs, first);
    metrics.ttftMs = milliseconds(start, first);
    metrics.normalisedLatencyMs = milliseconds(start, last) / count;
    metrics.tpotMs = timePerOutputTokenMs(trace);
    metrics.decodeTokensPerSecond = perSecond(count - 1, milliseconds(first, last));
}

void addGaps(RequestMetrics& metrics, const RequestTrace& trace)
{
    const std::vector<CommittedStep> steps = committedSteps(trace);
    for (const CommittedStep& step : steps) {
        metrics.stepTokens.push_back(step.tokens);
        metrics.draftedTokens += step.drafted;
        if (step.drafted > 0)
            metrics.acceptedTokens += step.tokens - 1;  // the last one of a step is the model's own
    }
    metrics.itlMs = gapsMs(steps);
    metrics.itlP50Ms = percentile(metrics.itlMs, 50);
    metrics.itlP95Ms = percentile(metrics.itlMs, 95);
    metrics.itlP99Ms = percentile(metrics.itlMs, 99);
}

void addUtilisation(RequestMetrics& metrics, const RequestTrace& trace, const MeasuredCeilings& ceilings)
{
    const double macCeiling = ceilings.computesInt8 ? ceilings.int8MacsPerSecond : ceilings.f32MacsPerSecond;
    const Work decode = workOf(trace, false);
    const Work prefill = workOf(trace, true);
    metrics.mbu = share(decode.bytes, decode.stepSeconds, ceilings.readBytesPerSecond);
    metrics.decodeMfu = share(decode.macs, decode.computeSeconds, macCeiling);
    metrics.mfu = share(prefill.macs, prefill.computeSeconds, macCeiling);
}

}  // namespace

RequestMetrics computeMetrics(const RequestTrace& trace, const std::optional<MeasuredCeilings>& ceilings)
{
    RequestMetrics metrics;
    metrics.promptTokens = trace.promptTokens;
    metrics.cachedTokens = trace.cachedTokens;
    metrics.outputTokens = static_cast<int>(trace.tokens.size());
    metrics.kvBytes = trace.kvBytesPeak;
    metrics.kvBlocks = trace.kvBlocksPeak;
    addLatencies(metrics, trace);
    addGaps(metrics, trace);
    if (ceilings)
        addUtilisation(metrics, trace, *ceilings);
    return metrics;
}

}  // namespace tokenscope
