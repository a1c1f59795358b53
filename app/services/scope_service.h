// What the scope shows of one answer, live or read back: a value per token, the split of the time to first token, the
// cache and its forecast. Qt-free, so that the numbers on the screen are tested without one. GUI thread.
#pragma once

#include "engine/measure/metrics.h"
#include "engine/types/events.h"
#include "engine/types/model_info.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tokenscope {

// One output token. `gapMs` is absent for the first (its wait is the time to first token).
struct ScopeToken {
    double atMs = 0.0;            // committed, since submit
    std::optional<double> gapMs;  // to the token before; of several committed in one step, the step's gap on the first
    double stepMs = 0.0;          // the step that made it: computing and sampling
    double sampleMs = 0.0;        // of it after the backend was done
    std::uint64_t bytes = 0;      // the step must read and write: weights touched, cache read, cache written
    double bytesPerSecond = 0.0;  // bytes / step time
    int rows = 0, sequences = 0, prefillRows = 0;
    int newBlocks = 0;
    int committedInStep = 1, draftedInStep = 0;
};

// Phases in their order; a phase that has not ended yet is absent.
struct TtftSplit {
    std::optional<double> tokenizeMs, queueMs, prefillMs, firstSampleMs;
    std::optional<double> totalMs;  // absent until the first token
    double knownMs() const;
};

struct KvFill {
    std::uint64_t usedBytes = 0, totalBytes = 0;
    int usedBlocks = 0, totalBlocks = 0;
    int tokens = 0;  // prompt and answer so far
    int context = 0;
    double bytesPerToken = 0.0;
    int promptTokens = 0;
    int tokensLeft() const { return context > tokens ? context - tokens : 0; }
};

class ScopeModel {
public:
    void setModel(const std::optional<LoadedModelInfo>& model);
    void setCeilings(const std::optional<MeasuredCeilings>& ceilings);

    // The answer that is being written; earlier events of it are forgotten.
    void begin(RequestId request);
    // Takes what belongs to the begun request, ignores the rest.
    void apply(const Event& event);
    // An answer read back, and the ones before it in the conversation (newest first) whose splits stand below its own.
    void show(const RequestTrace& trace, std::span<const RequestTrace* const> earlier);
    void clear();

    const std::vector<ScopeToken>& tokens() const { return m_tokens; }
    // Newest first, at most three.
    const std::vector<TtftSplit>& splits() const { return m_splits; }
    const KvFill& kv() const { return m_kv; }
    const std::optional<MeasuredCeilings>& ceilings() const { return m_ceilings; }
    std::size_t revision() const { return m_revision; }  // changes whenever something shown may have changed
    bool isLive() const { return m_request != 0; }

    // Of the gaps so far; absent without any. Linear interpolation.
    std::optional<double> gapPercentile(double p) const;
    int gapCount() const;
    // Bytes moved / step time over all decode tokens; absent before the second token.
    std::optional<double> meanBytesPerSecond() const;

private:
    void showTokens(const RequestTrace& trace);
    TtftSplit splitOf(const RequestTrace& trace) const;
    void addToken(const TokenStamp& stamp, const StepRecord* step);

    std::optional<LoadedModelInfo> m_model;
    std::optional<MeasuredCeilings> m_ceilings;
    RequestId m_request = 0;
    Nanoseconds m_submittedNs = 0;
    Nanoseconds m_previousTokenNs = 0;
    std::uint32_t m_previousStep = 0;
    Nanoseconds m_prefillEndNs = 0;
    Nanoseconds m_admittedNs = 0;
    Nanoseconds m_tokenisedNs = 0;
    std::vector<ScopeToken> m_tokens;
    std::vector<TtftSplit> m_splits;
    KvFill m_kv;
    std::size_t m_revision = 0;
};

}  // namespace tokenscope
