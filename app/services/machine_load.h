// How much of the machine others used while something was measured: what makes a ceiling read too low.
#pragma once

#include <filesystem>
#include <optional>

namespace tokenscope {

// Processor time since start-up, of all processors together. Time a hypervisor gave to others counts as busy.
struct ProcessorTime {
    double busySeconds = 0.0;
    double allSeconds = 0.0;  // idle included
    double ownSeconds = 0.0;  // of this process
};
// Nothing where the system does not tell (no /proc). The file is a seam for tests.
std::optional<ProcessorTime> processorTime(const std::filesystem::path& statFile = "/proc/stat");

// The share of the machine's processor time that others used in between, 0 … 1.
double loadOfOthers(const ProcessorTime& from, const ProcessorTime& to);

}  // namespace tokenscope
