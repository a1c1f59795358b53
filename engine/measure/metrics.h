// All metrics are computed here and nowhere else. Definitions and reference vectors: metrics.md.
#pragma once

#include "engine/types/events.h"
#include "engine/types/metrics.h"

#include <optional>
#include <span>
#include <vector>

namespace tokenscope {

// Ceilings of the device in use; absent = not measured yet, then mbu and mfu are absent too.
struct MeasuredCeilings {
    double readBytesPerSecond = 0.0;
    double int8MacsPerSecond = 0.0;
    double f32MacsPerSecond = 0.0;
};

RequestMetrics computeMetrics(const RequestTrace& trace, const std::optional<MeasuredCeilings>& ceilings);

enum class PercentileMethod { Linear, FloorIndex, LowerStep };
// p in 0 … 100; nullopt for an empty set. `values` need not be sorted.
std::optional<double> percentile(std::span<const double> values, double p,
                                 PercentileMethod method = PercentileMethod::Linear);

// The same raw times under another tool's convention.
struct ConventionMetrics {
    std::optional<double> ttftMs, tpotMs, normalisedMs;
    std::vector<double> stepGapsMs;
    std::optional<double> vllmTpotMs, aiperfItlMs, aiperfChunkAwareItlMs, guidellmTpotMs, guidellmItlMs, llmperfItlMs;
    Result<double> mlperfTpotMs = fail(ErrorCode::BadInput, "no tokens");
};
ConventionMetrics computeConventions(const RequestTrace& trace);

}  // namespace tokenscope
