// Spacing and sizes of the design, in logical pixels.
#pragma once

namespace tokenscope::ui {

inline constexpr int kSpace1 = 4, kSpace2 = 8, kSpace3 = 12, kSpace4 = 16;
inline constexpr int kRadius = 8, kCardRadius = 10, kBubbleRadius = 12;

}  // namespace tokenscope::ui
