#include "engine/measure/metrics.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

namespace tokenscope {

// Of N sorted values x[0] … x[N−1]:
//   Linear      between the neighbours of index (N − 1) · p/100
//   FloorIndex  x[⌊N · p/100⌋], the last at most
//   LowerStep   the first value whose cumulative share (i + 1)/N reaches p/100
std::optional<double> percentile(std::span<const double> values, double p, PercentileMethod method)
{
    assert(p >= 0.0 && p <= 100.0);
    if (values.empty())
        return std::nullopt;
    std::vector<double> sorted(values.begin(), values.end());
    std::sort(sorted.begin(), sorted.end());
    const auto count = static_cast<double>(sorted.size());
    const auto at = [&](double index) { return sorted[static_cast<std::size_t>(std::clamp(index, 0.0, count - 1.0))]; };
    switch (method) {
    case PercentileMethod::FloorIndex:
        return at(std::floor(count * p / 100.0));
    case PercentileMethod::LowerStep:
        return at(std::ceil(count * p / 100.0) - 1.0);
    case PercentileMethod::Linear:
        break;
    }
    const double index = (count - 1.0) * p / 100.0;
    const double lower = at(std::floor(index));
    return lower + (at(std::floor(index) + 1.0) - lower) * (index - std::floor(index));
}

std::optional<double> mean(std::span<const double> values)
{
    if (values.empty())
        return std::nullopt;
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// √(Σ (x − mean)² / (N − 1))
std::optional<double> standardDeviation(std::span<const double> values)
{
    if (values.size() < 2)
        return std::nullopt;
    const double middle = *mean(values);
    double squares = 0.0;
    for (const double v : values)
        squares += (v - middle) * (v - middle);
    return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

}  // namespace tokenscope
