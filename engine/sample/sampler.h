// Chooses the next token from a row of logits. The samplers work in llama.cpp's default order, so that the same
// settings mean the same distribution: penalties → top-k → top-p → min-p → temperature. (Temperature comes last: top-p
// and min-p judge the model's own probabilities.)
//
//  penalties    of tokens among the last kPenaltyWindow of the sequence, prompt included. Repeat (Keskar et al. 2019,
//               section 4.1): logit ÷ r where positive, × r where not; then − frequency × count − presence.
//  top-k        the k largest; top-p the fewest largest whose probabilities reach p; min-p those with at least that
//               share of the largest probability. Each keeps one at least.
//  temperature  0 takes the largest (of equal ones the lowest id) and ignores the filters; else softmax(logit ÷ T).
//
// The draw uses one number of engine/sample/random.h. Holds scratch memory only: one sampler serves all sequences, of
// the engine thread.
#pragma once

#include "engine/base/result.h"
#include "engine/types/events.h"
#include "engine/types/ids.h"
#include "engine/types/settings.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tokenscope {

// llama.cpp's default ("repeat last n").
inline constexpr int kPenaltyWindow = 64;

struct DrawKey {
    std::uint64_t seed = 0;
    std::uint32_t answer = 0;    // of several to one request
    std::uint32_t position = 0;  // of the drawn token in its sequence
};

class Sampler {
public:
    // `history`: all tokens of the sequence so far. NotANumber if the logits are none.
    Result<TokenId> sample(std::span<const float> logits, const SamplingSettings& settings,
                           std::span<const TokenId> history, const DrawKey& key);

private:
    std::span<const float> penalised(std::span<const float> logits, const SamplingSettings& settings,
                                     std::span<const TokenId> history);

    std::vector<float> m_penalised;
    std::vector<TokenId> m_window;
    std::vector<TopLogit> m_candidates;
    std::vector<double> m_weights;
};

// BadSetting naming the setting, its value and the range.
Result<void> checkSampling(const SamplingSettings& settings);

}  // namespace tokenscope
