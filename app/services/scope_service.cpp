#include "app/services/scope_service.h"

#include <algorithm>
#include <type_traits>
#include <variant>

namespace tokenscope {
namespace {

constexpr std::size_t kShownSplits = 3;

double milliseconds(Nanoseconds begin, Nanoseconds end)
{
    return static_cast<double>(end - begin) / 1e6;
}

}  // namespace

double TtftSplit::knownMs() const
{
    return tokenizeMs.value_or(0) + queueMs.value_or(0) + prefillMs.value_or(0) + firstSampleMs.value_or(0);
}

void ScopeModel::setModel(const std::optional<LoadedModelInfo>& model)
{
    m_model = model;
    m_kv = {};
    if (m_model) {
        m_kv.totalBlocks = m_model->blockCount;
        m_kv.totalBytes = m_model->blockBytes * static_cast<std::uint64_t>(m_model->blockCount);
        m_kv.context = m_model->context;
        m_kv.bytesPerToken = static_cast<double>(m_model->budget.kvBytesPerToken);
    }
    ++m_revision;
}

void ScopeModel::setCeilings(const std::optional<MeasuredCeilings>& ceilings)
{
    m_ceilings = ceilings;
    ++m_revision;
}

void ScopeModel::begin(RequestId request)
{
    m_request = request;
    m_submittedNs = m_previousTokenNs = m_prefillEndNs = m_admittedNs = m_tokenisedNs = 0;
    m_previousStep = 0;
    m_tokens.clear();
    m_kv.tokens = m_kv.promptTokens = 0;
    m_kv.usedBlocks = 0;
    m_kv.usedBytes = 0;
    m_splits.insert(m_splits.begin(), TtftSplit{});
    if (m_splits.size() > kShownSplits)
        m_splits.pop_back();
    ++m_revision;
}

void ScopeModel::clear()
{
    m_request = 0;
    m_tokens.clear();
    m_splits.clear();
    setModel(std::optional(m_model));
}

void ScopeModel::addToken(const TokenStamp& stamp, const StepRecord* step)
{
    ScopeToken token;
    token.atMs = milliseconds(m_submittedNs, stamp.committedNs);
    const bool sameStep = !m_tokens.empty() && stamp.stepId == m_previousStep && stamp.committedInStep > 1;
    if (!m_tokens.empty() && !sameStep)
        token.gapMs = milliseconds(m_previousTokenNs, stamp.committedNs);
    token.committedInStep = stamp.committedInStep;
    token.draftedInStep = stamp.draftedInStep;
    if (step) {
        token.stepMs = milliseconds(step->startNs, step->endNs);
        token.sampleMs = milliseconds(step->computedNs, step->endNs);
        token.bytes = step->weightBytes + step->kvReadBytes + step->kvWriteBytes;
        token.bytesPerSecond = token.stepMs > 0.0 ? static_cast<double>(token.bytes) / (token.stepMs / 1e3) : 0.0;
        token.rows = step->rows;
        token.sequences = step->sequences;
        token.prefillRows = step->prefillRows;
        token.newBlocks = step->newBlocks;
        if (m_model && step->kvBlocksUsed > 0) {
            m_kv.usedBlocks = step->kvBlocksUsed;
            m_kv.usedBytes = m_model->blockBytes * static_cast<std::uint64_t>(step->kvBlocksUsed);
        }
    }
    m_previousTokenNs = stamp.committedNs;
    m_previousStep = stamp.stepId;
    m_tokens.push_back(token);
    m_kv.tokens = m_kv.promptTokens + static_cast<int>(m_tokens.size());
}

void ScopeModel::apply(const Event& event)
{
    if (m_request == 0)
        return;
    std::visit(
        [this](const auto& e) {
            using T = std::decay_t<decltype(e)>;
            if constexpr (std::is_same_v<T, RequestTokenised>) {
                if (e.request != m_request)
                    return;
                m_submittedNs = e.submittedNs;
                m_tokenisedNs = e.tokenisedNs;
                m_kv.promptTokens = m_kv.tokens = e.promptTokens;
                m_splits.front().tokenizeMs = milliseconds(e.submittedNs, e.tokenisedNs);
                ++m_revision;
            } else if constexpr (std::is_same_v<T, PrefillProgress>) {
                if (e.request != m_request)
                    return;
                m_admittedNs = e.admittedNs;
                m_prefillEndNs = e.step.computedNs;
                m_splits.front().queueMs = milliseconds(m_tokenisedNs, e.admittedNs);
                m_splits.front().prefillMs = milliseconds(e.admittedNs, m_prefillEndNs);
                if (m_model && e.step.kvBlocksUsed > 0) {
                    m_kv.usedBlocks = e.step.kvBlocksUsed;
                    m_kv.usedBytes = m_model->blockBytes * static_cast<std::uint64_t>(e.step.kvBlocksUsed);
                }
                ++m_revision;
            } else if constexpr (std::is_same_v<T, TokenCommitted>) {
                if (e.request != m_request)
                    return;
                if (m_tokens.empty() && m_prefillEndNs != 0) {
                    m_splits.front().firstSampleMs = milliseconds(m_prefillEndNs, e.stamp.committedNs);
                    m_splits.front().totalMs = milliseconds(m_submittedNs, e.stamp.committedNs);
                }
                addToken(e.stamp, &e.step);
                ++m_revision;
            } else if constexpr (std::is_same_v<T, RequestFinished>) {
                if (e.request != m_request)
                    return;
                m_request = 0;
                // The trace is exact where the live events were only as fine as they arrived.
                m_splits.front() = splitOf(e.trace);
                showTokens(e.trace);
            }
        },
        event);
}

void ScopeModel::showTokens(const RequestTrace& trace)
{
    m_tokens.clear();
    m_submittedNs = trace.scheduledNs.value_or(trace.submittedNs);
    m_kv.promptTokens = m_kv.tokens = trace.promptTokens;
    auto step = trace.steps.begin();
    for (const TokenStamp& stamp : trace.tokens) {
        // Both are in order of time, so the search goes on where the last one ended.
        while (step != trace.steps.end() && step->stepId < stamp.stepId)
            ++step;
        const bool found = step != trace.steps.end() && step->stepId == stamp.stepId;
        addToken(stamp, found ? &*step : nullptr);
    }
    m_kv.usedBlocks = trace.kvBlocksPeak;
    m_kv.usedBytes = trace.kvBytesPeak;
    ++m_revision;
}

TtftSplit ScopeModel::splitOf(const RequestTrace& trace) const
{
    const RequestMetrics metrics = computeMetrics(trace, m_ceilings);
    return {metrics.tokenizeMs, metrics.queueMs, metrics.prefillMs, metrics.firstSampleMs, metrics.ttftMs};
}

void ScopeModel::show(const RequestTrace& trace, std::span<const RequestTrace* const> earlier)
{
    m_request = 0;
    m_splits = {splitOf(trace)};
    for (const RequestTrace* other : earlier.first(std::min(earlier.size(), kShownSplits - 1)))
        m_splits.push_back(splitOf(*other));
    showTokens(trace);
}

std::optional<double> ScopeModel::gapPercentile(double p) const
{
    std::vector<double> gaps;
    gaps.reserve(m_tokens.size());
    for (const ScopeToken& token : m_tokens)
        if (token.gapMs)
            gaps.push_back(*token.gapMs);
    return percentile(gaps, p);
}

int ScopeModel::gapCount() const
{
    return static_cast<int>(
        std::count_if(m_tokens.begin(), m_tokens.end(), [](const ScopeToken& t) { return t.gapMs.has_value(); }));
}

std::optional<double> ScopeModel::meanBytesPerSecond() const
{
    double bytes = 0.0, seconds = 0.0;
    for (const ScopeToken& token : m_tokens)
        if (token.gapMs) {
            bytes += static_cast<double>(token.bytes);
            seconds += token.stepMs / 1e3;
        }
    return seconds > 0.0 ? std::optional(bytes / seconds) : std::nullopt;
}

}  // namespace tokenscope
