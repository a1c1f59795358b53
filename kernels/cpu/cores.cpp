#include "kernels/cpu/cores.h"

#include "kernels/cpu/cpu_backend.h"

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <sched.h>

namespace tokenscope::kernels {
namespace {

namespace fs = std::filesystem;

// Logical processors this process may run on; empty if the system does not say.
std::vector<int> allowedCpus()
{
    constexpr int kMostCpus = 8192;  // the largest NR_CPUS a kernel is built with
    std::array<unsigned long, kMostCpus / (CHAR_BIT * sizeof(unsigned long))> mask{};
    std::vector<int> cpus;
    if (sched_getaffinity(0, sizeof mask, reinterpret_cast<cpu_set_t*>(mask.data())) != 0)
        return cpus;
    for (int cpu = 0; cpu < kMostCpus; ++cpu)
        if (CPU_ISSET_S(cpu, sizeof mask, reinterpret_cast<const cpu_set_t*>(mask.data())))
            cpus.push_back(cpu);
    return cpus;
}

// quota / period of one control group in whole processors; INT_MAX: no limit or not readable.
int wholeCpus(double quota, double period)
{
    if (!(quota > 0.0) || !(period > 0.0) || quota / period > 1e6)
        return INT_MAX;
    return std::max(1, static_cast<int>(quota / period));
}

// Version 2: "cpu.max" holds "quota period" or "max period". A parent's limit holds for its children too.
int quotaOfUnified(const fs::path& mount, const std::string& group)
{
    int least = INT_MAX;
    for (fs::path at = mount / fs::path(group).relative_path();; at = at.parent_path()) {
        std::ifstream file(at / "cpu.max");
        std::string quota;
        double period = 0.0;
        if (file >> quota >> period && quota != "max")
            least = std::min(least, wholeCpus(std::strtod(quota.c_str(), nullptr), period));
        if (at == mount || at == at.root_path())
            return least;
    }
}

// Version 1: two files, quota −1 without a limit. In a container the group's own folder is often mounted at the root.
int quotaOfLegacy(const fs::path& mount, const std::string& group)
{
    int least = INT_MAX;
    for (const fs::path& at : {mount / fs::path(group).relative_path(), mount}) {
        double quota = 0.0;
        double period = 0.0;
        if (std::ifstream(at / "cpu.cfs_quota_us") >> quota && std::ifstream(at / "cpu.cfs_period_us") >> period)
            least = std::min(least, wholeCpus(quota, period));
    }
    return least;
}

// /proc/self/cgroup: one line a hierarchy, "id:controllers:path"; version 2 has id 0 and no controllers.
int groupQuota(const fs::path& root)
{
    int least = INT_MAX;
    std::ifstream file(root / "proc/self/cgroup");
    for (std::string line; std::getline(file, line);) {
        const std::size_t first = line.find(':');
        const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
        if (second == std::string::npos)
            continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        const std::string group = line.substr(second + 1);
        const fs::path mounts = root / "sys/fs/cgroup";
        if (controllers.empty()) {
            least = std::min(least, quotaOfUnified(mounts, group));
            continue;
        }
        if (("," + controllers + ",").find(",cpu,") != std::string::npos)
            for (const fs::path& mount : {mounts / "cpu", mounts / controllers})
                least = std::min(least, quotaOfLegacy(mount, group));
    }
    return least;
}

}  // namespace

int countCores(const fs::path& root, std::span<const int> cpus)
{
    std::set<std::pair<int, int>> cores;  // package, core within it
    for (const int cpu : cpus) {
        const fs::path topology = root / "sys/devices/system/cpu" / ("cpu" + std::to_string(cpu)) / "topology";
        int package = 0;
        int core = 0;
        if (std::ifstream(topology / "physical_package_id") >> package && std::ifstream(topology / "core_id") >> core)
            cores.emplace(package, core);
        else
            cores.emplace(INT_MIN, cpu);  // unknown: a core of its own
    }
    const int present = std::max(1, static_cast<int>(cores.size()));
    return std::min(present, groupQuota(root));
}

int physicalCores()
{
    return countCores("/", allowedCpus());
}

}  // namespace tokenscope::kernels
