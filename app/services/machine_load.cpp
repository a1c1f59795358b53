#include "app/services/machine_load.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <string>

#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

namespace tokenscope {
namespace {

double secondsOf(const timeval& time)
{
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

}  // namespace

std::optional<ProcessorTime> processorTime(const std::filesystem::path& statFile)
{
    std::ifstream stream(statFile);
    std::string label;
    // user, nice, system, idle, iowait, irq, softirq, steal: ticks (proc(5)); guests are part of user and nice.
    std::array<double, 8> ticks{};
    constexpr std::size_t kIdle = 3, kWaiting = 4;
    if (!(stream >> label) || label != "cpu")
        return std::nullopt;
    for (double& value : ticks) {
        if (!(stream >> value))
            return std::nullopt;
    }
    const auto perSecond = static_cast<double>(::sysconf(_SC_CLK_TCK));
    ProcessorTime time;
    for (const double value : ticks)
        time.allSeconds += value / perSecond;
    time.busySeconds = time.allSeconds - (ticks[kIdle] + ticks[kWaiting]) / perSecond;
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    time.ownSeconds = secondsOf(usage.ru_utime) + secondsOf(usage.ru_stime);
    return time;
}

double loadOfOthers(const ProcessorTime& from, const ProcessorTime& to)
{
    const double all = to.allSeconds - from.allSeconds;
    if (all <= 0.0)
        return 0.0;
    const double others = (to.busySeconds - from.busySeconds) - (to.ownSeconds - from.ownSeconds);
    return std::clamp(others / all, 0.0, 1.0);
}

}  // namespace tokenscope
