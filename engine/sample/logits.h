// Reductions over one row of logits. Sums run in id order, so that the same row gives the same bits every time; nothing
// sorts the vocabulary (262,144 entries take 20 ms that way and under a millisecond this way).
#pragma once

#include "engine/base/result.h"
#include "engine/types/events.h"

#include <span>
#include <vector>

namespace tokenscope {

// NotANumber, naming the first bad id, for a NaN or +infinity, or if all are −infinity. −infinity alone means "never".
Result<float> largestLogit(std::span<const float> logits);

// The k largest, largest first, of equal ones the lowest id first. One pass with a heap of k.
void selectLargest(std::span<const float> logits, int k, std::vector<TopLogit>& out);

// ln Σ exp(logit), with the largest (of largestLogit) taken out first.
double logSumExp(std::span<const float> logits, float largest);

// The fewest largest logits whose probabilities (at temperature 1) sum to at least p, in id order; of equal logits at
// the border the lowest ids are taken. At least one. By a histogram of the distance to the largest and a selection
// inside the one bucket where the sum crosses p.
void selectNucleus(std::span<const float> logits, float largest, double p, std::vector<TopLogit>& out);

}  // namespace tokenscope
