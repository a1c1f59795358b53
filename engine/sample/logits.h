// Reductions over one row of logits. Sums run in a fixed order, so that the same row gives the same bits every time;
// nothing sorts the vocabulary.
#pragma once

#include "engine/base/result.h"
#include "engine/types/events.h"

#include <span>
#include <vector>

namespace tokenscope {

// NotANumber, naming the first bad id, for a NaN or +infinity, or if all are −infinity. −infinity alone means "never".
Result<float> largestLogit(std::span<const float> logits);

// The first id with this logit, which some entry has.
TokenId firstOf(std::span<const float> logits, float value);

// All with at least this logit, in id order.
void selectAtLeast(std::span<const float> logits, float threshold, std::vector<TopLogit>& out);

// The k largest, largest first, of equal ones the lowest id first. One pass with a heap of k.
void selectLargest(std::span<const float> logits, int k, std::vector<TopLogit>& out);

// Σ exp((logit − largest) / temperature) in pieces of kSumPiece ids, each piece's sum in `pieces` if given. Relative
// error under 1e-6.
inline constexpr std::size_t kSumPiece = 1024;
double expSums(std::span<const float> logits, float largest, float inverseTemperature, std::vector<double>* pieces);

// Draws from all of them: the id where the running sum of weights passes `uniform` (0 ≤ uniform < 1) times the total.
TokenId drawFromAll(std::span<const float> logits, float largest, float inverseTemperature, double uniform,
                    std::vector<double>& pieces);

// ln Σ exp(logit), with the largest (of largestLogit) taken out first.
double logSumExp(std::span<const float> logits, float largest);

// The fewest largest logits whose probabilities (at temperature 1) sum to at least p, in id order; of equal logits at
// the border the lowest ids are taken. At least one. By a histogram of the distance to the largest and a selection
// inside the one bucket where the sum crosses p.
void selectNucleus(std::span<const float> logits, float largest, double p, std::vector<TopLogit>& out);

}  // namespace tokenscope
