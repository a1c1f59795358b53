// What the engine tells: small values, taken in batches by the bridge or the command line. Times are Nanoseconds of the
// engine's clock; every metric of metrics.md is derived from them in engine/measure/ and nowhere else.
#pragma once

#include "engine/base/clock.h"
#include "engine/base/result.h"
#include "engine/types/ids.h"
#include "engine/types/model_info.h"
#include "engine/types/settings.h"

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tokenscope {

enum class StopReason { Eos, StopString, Length, ContextFull, Cancelled, Deadline, Error };
const char* stopReasonName(StopReason reason);  // "eos", "stop_string", …

// One step of the engine as seen by a request that took part.
struct StepRecord {
    std::uint32_t stepId = 0;
    Nanoseconds startNs = 0;
    Nanoseconds computedNs = 0;  // the backend is done
    Nanoseconds endNs = 0;       // sampled and committed
    int rows = 0;                // of all sequences
    int prefillRows = 0;         // of them belonging to prompts
    int sequences = 0;
    std::uint64_t weightBytes = 0;  // that the step must read
    std::uint64_t kvReadBytes = 0;
    std::uint64_t kvWriteBytes = 0;
    std::uint64_t macs = 0;
    int newBlocks = 0;     // allocated for this request before the step
    int kvBlocksUsed = 0;  // whole pool, after the step
};

struct TokenStamp {
    TokenId id = 0;
    Nanoseconds committedNs = 0;
    std::uint32_t stepId = 0;
    int committedInStep = 1;  // > 1 with accepted drafts
    int draftedInStep = 0;
    std::uint32_t textBegin = 0;  // bytes of the answer's text that this token's bytes cover; may be empty
    std::uint32_t textEnd = 0;
};

struct ChunkStamp {
    Nanoseconds endNs = 0;
    int tokens = 0;  // computed in this chunk
    std::uint32_t stepId = 0;
};

// Raw measurements of a request, without its texts. Absent times are nullopt, never 0.
struct RequestTrace {
    std::optional<Nanoseconds> scheduledNs;
    Nanoseconds submittedNs = 0;
    std::optional<Nanoseconds> tokenisedNs;
    std::optional<Nanoseconds> admittedNs;
    std::vector<ChunkStamp> chunks;
    std::vector<TokenStamp> tokens;
    std::vector<StepRecord> steps;  // in which it took part
    std::optional<Nanoseconds> stoppedNs;
    std::optional<Nanoseconds> teardownNs;
    int promptTokens = 0;
    int cachedTokens = 0;  // prompt = computed + cached
    int droppedBytes = 0;  // of the prompt that the vocabulary cannot encode
    int kvBlocksPeak = 0;
    std::uint64_t kvBytesPeak = 0;
    StopReason reason = StopReason::Error;
};

struct TopLogit {
    TokenId id = 0;
    float logit = 0.0f;
};

// Of a scoring request: how likely the given text was, token by token.
struct TokenScore {
    TokenId id = 0;
    double logProbability = 0.0;  // natural log
    double logSumExp = 0.0;
    std::vector<TopLogit> top;  // of the distribution this token was drawn from, largest first
};

struct ModelLoading {
    double fraction = 0.0;
};
struct ModelLoaded {
    LoadedModelInfo info;
};
struct ModelLoadFailed {
    std::string path;
    Error error;
};
struct ModelUnloaded {};
struct RequestTokenised {
    RequestId request = 0;
    int promptTokens = 0;
    int droppedBytes = 0;
    std::vector<std::string> warnings;
    Nanoseconds submittedNs = 0;
    Nanoseconds tokenisedNs = 0;
};
struct PrefillProgress {
    RequestId request = 0;
    int done = 0;
    int total = 0;
    StepRecord step;
    Nanoseconds admittedNs = 0;
};
struct TokenCommitted {
    RequestId request = 0;
    TokenStamp stamp;
    StepRecord step;
    std::string text;  // new text that is safe to show (whole characters; may be empty, may hold several tokens' bytes)
};
struct RequestFinished {
    RequestId request = 0;
    RequestTrace trace;
    std::string text;  // the whole answer
    std::vector<TokenId> promptIds;
    std::vector<TokenId> outputIds;                // end-of-text token included
    std::vector<std::vector<TopLogit>> topLogits;  // where asked for, one entry per output token
    std::vector<TokenScore> scores;                // of scoring requests
    SamplingSettings sampling;                     // with the seed that was used
    std::optional<Error> error;                    // with StopReason::Error
};

using Event = std::variant<ModelLoading, ModelLoaded, ModelLoadFailed, ModelUnloaded, RequestTokenised, PrefillProgress,
                           TokenCommitted, RequestFinished>;

}  // namespace tokenscope
