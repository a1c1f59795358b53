// All metrics are computed here and nowhere else. Definitions and reference vectors: metrics.md.
#pragma once

#include "engine/types/events.h"
#include "engine/types/metrics.h"

#include <optional>
#include <span>
#include <vector>

namespace tokenscope {

// A step without prompt rows of anybody is a decode step, any other a prefill step. Times of steps: mbu takes start →
// end (sampling included, as the user waits for it), mfu start → computed (as the prefill speed excludes the first
// sample).
RequestMetrics computeMetrics(const RequestTrace& trace, const std::optional<MeasuredCeilings>& ceilings);

enum class PercentileMethod { Linear, FloorIndex, LowerStep };
// p in 0 … 100; nullopt for an empty set. `values` need not be sorted.
std::optional<double> percentile(std::span<const double> values, double p,
                                 PercentileMethod method = PercentileMethod::Linear);

std::optional<double> mean(std::span<const double> values);
// The sample one (N − 1); nullopt below two values.
std::optional<double> standardDeviation(std::span<const double> values);

// The same raw times under another tool's convention. Other tools start their clock when they send, so theirs count
// from submittedNs; ours (the first line) from scheduledNs where there is one.
struct ConventionMetrics {
    std::optional<double> ttftMs, tpotMs, normalisedMs;
    std::vector<double> stepGapsMs;
    std::optional<double> vllmTpotMs, aiperfItlMs, aiperfChunkAwareItlMs, guidellmTpotMs, guidellmItlMs, llmperfItlMs;
    Result<double> mlperfTpotMs =
        fail(ErrorCode::BadInput, "MLPerf's TPOT needs at least 2 output tokens, this answer has 0");
};
ConventionMetrics computeConventions(const RequestTrace& trace);

}  // namespace tokenscope
