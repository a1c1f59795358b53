#include "ui/charts/decimate.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace tokenscope::ui {
namespace {

std::vector<ChartPoint> flatWithSpikes(int count, std::vector<int> spikes)
{
    std::vector<ChartPoint> points;
    for (int i = 0; i < count; ++i)
        points.push_back({static_cast<double>(i), 6.0});
    for (int spike : spikes)
        points[static_cast<std::size_t>(spike)].y = 40.0 + spike;
    return points;
}

TEST(Decimate, ASingleSpikeAmongTwentyThousandPointsSurvives)
{
    const auto points = flatWithSpikes(20'000, {13'337});
    const auto kept = decimate(points, 0, 20'000, 300);
    EXPECT_LE(kept.size(), 600u);
    const auto highest = std::max_element(kept.begin(), kept.end(), [](auto& a, auto& b) { return a.y < b.y; });
    EXPECT_EQ(highest->x, 13'337);
    EXPECT_EQ(highest->y, 40 + 13'337);
}

TEST(Decimate, OrderIsKeptAndFewPointsPassUnchanged)
{
    const auto kept = decimate(flatWithSpikes(5'000, {10, 11, 4'999}), 0, 5'000, 100);
    EXPECT_TRUE(std::is_sorted(kept.begin(), kept.end(), [](auto& a, auto& b) { return a.x < b.x; }));
    EXPECT_EQ(decimate(flatWithSpikes(40, {}), 0, 40, 100).size(), 40u);
    EXPECT_TRUE(decimate(flatWithSpikes(40, {}), 0, 40, 0).empty());
}

TEST(NiceCeiling, HoldsTheValueInStepsPeopleRead)
{
    EXPECT_DOUBLE_EQ(niceCeiling(14.7), 15);
    EXPECT_DOUBLE_EQ(niceCeiling(15.0), 15);
    EXPECT_DOUBLE_EQ(niceCeiling(15.1), 20);
    EXPECT_DOUBLE_EQ(niceCeiling(0.00061), 0.00075);
    EXPECT_DOUBLE_EQ(niceCeiling(0.0), 1);
    EXPECT_EQ(niceSteps(1), 2);    // 0.5
    EXPECT_EQ(niceSteps(150), 3);  // 50
    EXPECT_EQ(niceSteps(0.3), 3);  // 0.1
    EXPECT_EQ(niceSteps(20), 2);   // 10
    EXPECT_EQ(niceSteps(7500), 3);
    EXPECT_DOUBLE_EQ(niceCeiling(-3.0), 1);
}

}  // namespace
}  // namespace tokenscope::ui
