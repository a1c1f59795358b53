// Fewer points for the same picture: the smallest and the largest of each pixel column survive, so that no spike is
// lost. Pure; no Qt.
#pragma once

#include <span>
#include <vector>

namespace tokenscope::ui {

struct ChartPoint {
    double x = 0.0;
    double y = 0.0;
};

// `points` ascend in x. At most 2 · columns come back, in order; all of them if there are fewer. A column's two
// extremes keep their own x and order.
std::vector<ChartPoint> decimate(std::span<const ChartPoint> points, double xBegin, double xEnd, int columns);

// An axis maximum that people read easily: the smallest of 1, 1.5, 2, 3, 5, 7.5 × 10^n that holds `value`.
double niceCeiling(double value);
// Into how many equal steps an axis that ends there parts, so that every tick is a round number.
int niceSteps(double ceiling);

}  // namespace tokenscope::ui
