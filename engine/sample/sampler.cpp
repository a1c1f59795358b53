#include "engine/sample/sampler.h"

#include "engine/sample/logits.h"
#include "engine/sample/random.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace tokenscope {
namespace {

// Keeps the first candidates (largest first) whose probabilities reach p.
void keepNucleus(std::vector<TopLogit>& candidates, double p)
{
    const float largest = candidates.front().logit;
    double total = 0.0;
    for (const TopLogit& candidate : candidates)
        total += static_cast<double>(std::exp(candidate.logit - largest));
    double sum = 0.0;
    std::size_t kept = 0;
    while (kept < candidates.size() && (kept == 0 || sum < p * total))
        sum += static_cast<double>(std::exp(candidates[kept++].logit - largest));
    candidates.resize(kept);
}

float minPThreshold(float largest, double minP)
{
    if (minP <= 0.0)
        return -std::numeric_limits<float>::infinity();
    return static_cast<float>(static_cast<double>(largest) + std::log(minP));
}

Result<void> inRange(const char* name, double value, double low, double high)
{
    if (value >= low && value <= high)
        return {};
    return fail(ErrorCode::BadSetting, "{}={}: expected {} to {}", name, value, low, high);
}

}  // namespace

std::span<const float> Sampler::penalised(std::span<const float> logits, const SamplingSettings& settings,
                                          std::span<const TokenId> history)
{
    const bool off =
        settings.repeatPenalty == 1.0 && settings.frequencyPenalty == 0.0 && settings.presencePenalty == 0.0;
    if (off || history.empty())
        return logits;
    const auto recent = history.last(std::min<std::size_t>(history.size(), kPenaltyWindow));
    m_window.assign(recent.begin(), recent.end());
    std::sort(m_window.begin(), m_window.end());
    m_penalised.assign(logits.begin(), logits.end());
    for (auto begin = m_window.begin(); begin != m_window.end();) {
        const auto end = std::upper_bound(begin, m_window.end(), *begin);
        const auto count = static_cast<double>(end - begin);
        float& logit = m_penalised[static_cast<std::size_t>(*begin)];
        double value = logit;
        value = value > 0.0 ? value / settings.repeatPenalty : value * settings.repeatPenalty;
        logit = static_cast<float>(value - settings.frequencyPenalty * count - settings.presencePenalty);
        begin = end;
    }
    return m_penalised;
}

Result<TokenId> Sampler::sample(std::span<const float> logits, const SamplingSettings& settings,
                                std::span<const TokenId> history, const DrawKey& key)
{
    auto largest = largestLogit(logits);
    if (!largest)
        return tl::unexpected(largest.error());
    const std::span<const float> row = penalised(logits, settings, history);
    if (row.data() != logits.data())
        largest = largestLogit(row);
    if (!largest)
        return tl::unexpected(largest.error());

    if (settings.temperature == 0.0)
        return firstOf(row, *largest);

    const double uniform = uniformAt(key.seed, key.answer, key.position, RandomPurpose::Token);
    const float threshold = minPThreshold(*largest, settings.minP);
    if (settings.topK > 0 && static_cast<std::size_t>(settings.topK) < row.size()) {
        selectLargest(row, settings.topK, m_candidates);
        if (settings.topP < 1.0)
            keepNucleus(m_candidates, settings.topP);
        std::erase_if(m_candidates, [&](const TopLogit& candidate) { return candidate.logit < threshold; });
    } else if (settings.topP < 1.0) {
        selectNucleus(row, *largest, settings.topP, m_candidates);
        std::erase_if(m_candidates, [&](const TopLogit& candidate) { return candidate.logit < threshold; });
    } else if (settings.minP > 0.0) {
        selectAtLeast(row, threshold, m_candidates);
    } else {
        return drawFromAll(row, *largest, static_cast<float>(std::min(1.0 / settings.temperature, 1e30)), uniform,
                           m_weights);
    }

    // The largest is always among the candidates, and its weight is 1.
    m_weights.clear();
    double total = 0.0;
    for (const TopLogit& candidate : m_candidates) {
        const double distance = static_cast<double>(candidate.logit) - static_cast<double>(*largest);
        m_weights.push_back(static_cast<double>(std::exp(static_cast<float>(distance / settings.temperature))));
        total += m_weights.back();
    }
    const double target = total * uniform;
    double sum = 0.0;
    std::size_t chosen = 0;
    for (std::size_t i = 0; i < m_weights.size(); ++i) {
        if (m_weights[i] > 0.0)
            chosen = i;  // where rounding leaves the sum short of the target, the last possible one
        sum += m_weights[i];
        if (sum > target)
            break;
    }
    return m_candidates[chosen].id;
}

Result<void> checkSampling(const SamplingSettings& settings)
{
    // The comparisons are false for NaN, so that it is refused too.
    for (const auto& checked :
         {inRange("temp", settings.temperature, 0.0, 5.0), inRange("top_k", settings.topK, 0, 1'000'000),
          inRange("top_p", settings.topP, 0.0, 1.0), inRange("min_p", settings.minP, 0.0, 1.0),
          inRange("repeat_penalty", settings.repeatPenalty, 0.1, 10.0),
          inRange("frequency_penalty", settings.frequencyPenalty, -10.0, 10.0),
          inRange("presence_penalty", settings.presencePenalty, -10.0, 10.0),
          inRange("max_tokens", settings.maxTokens, 1, std::numeric_limits<int>::max())})
        if (!checked)
            return checked;
    return {};
}

}  // namespace tokenscope
