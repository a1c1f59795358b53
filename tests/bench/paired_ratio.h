// Speeds of two conditions measured in the same rounds: the ratio with its 95 % interval (Student's t on the logarithms
// of the rounds' ratios, because ratios multiply and a slow round slows both).
#pragma once

#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

namespace tokenscope::bench {

struct PairedRatio {
    double ratio = 1.0;
    double low = 0.0, high = std::numeric_limits<double>::infinity();  // without two rounds nothing is known
};

// Two-sided 95 % quantile of Student's distribution; from 31 degrees of freedom on the normal's with the first two
// terms of Cornish and Fisher's expansion (error below 0.001).
inline double studentQuantile(int degrees)
{
    constexpr std::array kTable{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                                2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
    if (degrees <= static_cast<int>(kTable.size()))
        return kTable[static_cast<std::size_t>(degrees - 1)];
    constexpr double z = 1.959964;
    return z + (z * z * z + z) / (4.0 * degrees);
}

inline PairedRatio pairedRatio(std::span<const double> speeds, std::span<const double> base)
{
    const auto count = static_cast<double>(speeds.size());
    double sum = 0.0, squares = 0.0;
    for (std::size_t i = 0; i < speeds.size(); ++i)
        sum += std::log(speeds[i] / base[i]);
    const double mean = sum / count;
    for (std::size_t i = 0; i < speeds.size(); ++i)
        squares += std::pow(std::log(speeds[i] / base[i]) - mean, 2);
    PairedRatio result{.ratio = std::exp(mean)};
    if (speeds.size() >= 2) {
        const double half = studentQuantile(static_cast<int>(count) - 1) * std::sqrt(squares / (count - 1.0) / count);
        result.low = std::exp(mean - half);
        result.high = std::exp(mean + half);
    }
    return result;
}

}  // namespace tokenscope::bench
