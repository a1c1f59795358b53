#include "ui/charts/decimate.h"

#include <algorithm>
#include <cmath>

namespace tokenscope::ui {

std::vector<ChartPoint> decimate(std::span<const ChartPoint> points, double xBegin, double xEnd, int columns)
{
    if (columns <= 0 || xEnd <= xBegin)
        return {};
    if (points.size() <= static_cast<std::size_t>(columns) * 2)
        return {points.begin(), points.end()};

    std::vector<ChartPoint> kept;
    kept.reserve(static_cast<std::size_t>(columns) * 2);
    const double perColumn = (xEnd - xBegin) / columns;
    const auto columnOf = [&](const ChartPoint& point) {
        return std::clamp(static_cast<int>((point.x - xBegin) / perColumn), 0, columns - 1);
    };
    for (std::size_t begin = 0; begin < points.size();) {
        const int column = columnOf(points[begin]);
        std::size_t low = begin, high = begin, end = begin;
        for (; end < points.size() && columnOf(points[end]) == column; ++end) {
            if (points[end].y < points[low].y)
                low = end;
            if (points[end].y > points[high].y)
                high = end;
        }
        kept.push_back(points[std::min(low, high)]);
        if (low != high)
            kept.push_back(points[std::max(low, high)]);
        begin = end;
    }
    return kept;
}

double niceCeiling(double value)
{
    if (!(value > 0.0) || !std::isfinite(value))
        return 1.0;
    const double power = std::pow(10.0, std::floor(std::log10(value)));
    for (double step : {1.0, 1.5, 2.0, 3.0, 5.0, 7.5, 10.0})
        if (value <= step * power * (1.0 + 1e-9))
            return step * power;
    return 10.0 * power;
}

int niceSteps(double ceiling)
{
    const double lead = ceiling / std::pow(10.0, std::floor(std::log10(ceiling) + 1e-9));
    const bool thirds = std::abs(lead - 1.5) < 1e-6 || std::abs(lead - 3.0) < 1e-6 || std::abs(lead - 7.5) < 1e-6;
    return thirds ? 3 : 2;
}

}  // namespace tokenscope::ui
