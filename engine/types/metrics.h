// A request's numbers as shown and exported, each defined in metrics.md. Absent is nullopt, never 0. Milliseconds
// unless the name says otherwise. Made by engine/measure/ from a RequestTrace.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace tokenscope {

struct RequestMetrics {
    std::optional<double> clientQueueMs;  // scheduled → submitted, under open-loop load only
    // The parts of the TTFT, in this order (after the client's queue, where there is one).
    std::optional<double> tokenizeMs, queueMs, prefillMs, firstSampleMs, ttftMs;
    std::optional<double> tpotMs, e2eMs, normalisedLatencyMs;
    std::vector<double> itlMs;    // every gap between steps that committed tokens
    std::vector<int> stepTokens;  // tokens each of those steps committed, the first step included
    std::optional<double> itlP50Ms, itlP95Ms, itlP99Ms;
    std::optional<double> prefillTokensPerSecond, decodeTokensPerSecond;
    std::optional<double> mbu, mfu;   // of decode and of prefill; 0 … 1 and above; absent without ceilings
    std::optional<double> decodeMfu;  // shown beside mbu
    int promptTokens = 0, cachedTokens = 0, outputTokens = 0;
    std::uint64_t kvBytes = 0;
    int kvBlocks = 0;
    int draftedTokens = 0, acceptedTokens = 0;
};

// Ceilings of the device in use; absent = not measured yet, then mbu and mfu are absent too.
struct MeasuredCeilings {
    double readBytesPerSecond = 0.0;
    double int8MacsPerSecond = 0.0;
    double f32MacsPerSecond = 0.0;
    bool computesInt8 = true;  // matrix products in use are 8-bit dot products; false: f32 (reference, float formats)
};

}  // namespace tokenscope
