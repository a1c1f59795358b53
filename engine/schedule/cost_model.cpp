#include "engine/schedule/cost_model.h"

#include "engine/types/settings.h"

#include <algorithm>
#include <limits>

namespace tokenscope {
namespace {

constexpr int kLeastMeasuredRows = 8;  // below, reading the weights is most of a step
constexpr double kNewestShare = 0.4;   // a moving average: follows a change within about four steps

constexpr double kDecodingNs = 80e6;  // somebody waits for a token: 80 ms is seen as a pause
constexpr double kAloneNs = 500e6;    // nobody does: only the progress bar
constexpr int kLeastRows = 8;
constexpr int kMostRows = 512;  // longer steps are no faster
constexpr int kFirstRows = 64;  // before anything is measured: a 7B model takes some 3 s for them

}  // namespace

void CostModel::observe(int rows, Nanoseconds duration)
{
    if (rows < kLeastMeasuredRows || duration <= 0)
        return;
    const double nsPerRow = static_cast<double>(duration) / rows;
    m_nsPerRow = m_nsPerRow == 0.0 ? nsPerRow : m_nsPerRow + kNewestShare * (nsPerRow - m_nsPerRow);
}

int CostModel::prefillRows(int decodingRows) const
{
    if (m_setting == kWholePrompt)
        return std::numeric_limits<int>::max();
    if (m_setting > 0)
        return m_setting;
    const double limitNs = decodingRows > 0 ? kDecodingNs : kAloneNs;
    const double rows = m_nsPerRow == 0.0 ? kFirstRows : std::min(limitNs / m_nsPerRow, 1.0 * kMostRows);
    return std::max(static_cast<int>(rows) - decodingRows, kLeastRows);
}

}  // namespace tokenscope
