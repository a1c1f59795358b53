// What metrics of every convention start from: the times of a request, in milliseconds, and its tokens step by step.
#pragma once

#include "engine/types/events.h"

#include <optional>
#include <vector>

namespace tokenscope {

inline double milliseconds(Nanoseconds from, Nanoseconds to)
{
    return static_cast<double>(to - from) * 1e-6;
}

// Absent if either end is.
inline std::optional<double> milliseconds(std::optional<Nanoseconds> from, std::optional<Nanoseconds> to)
{
    if (!from || !to)
        return std::nullopt;
    return milliseconds(*from, *to);
}

// A step in which the request got tokens.
struct CommittedStep {
    Nanoseconds committedNs = 0;
    int tokens = 0;
    int drafted = 0;
};
std::vector<CommittedStep> committedSteps(const RequestTrace& trace);
std::vector<double> gapsMs(const std::vector<CommittedStep>& steps);

// (t_n − t_1) / (n − 1); absent below two tokens.
std::optional<double> timePerOutputTokenMs(const RequestTrace& trace);

}  // namespace tokenscope
