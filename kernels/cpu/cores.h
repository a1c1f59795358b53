// How many processors this process may really use: its affinity mask, the cores behind hardware threads, and the quota
// of its control group.
#pragma once

#include <filesystem>
#include <span>

namespace tokenscope::kernels {

// Physical cores among `cpus` (ids of logical processors this process may run on), each counted once however many of
// its hardware threads are listed, capped by the CPU quota of the control group (rounded down: threads beyond it are
// halted for the rest of every period, and spinning ones burn it). At least 1.
// `root` is "/" but in tests; unreadable files count as absent.
int countCores(const std::filesystem::path& root, std::span<const int> cpus);

}  // namespace tokenscope::kernels
