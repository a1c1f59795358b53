#include "app/services/machine_service.h"

#include "kernels/cpu/cpu_backend.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <thread>

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace tokenscope {
namespace {

namespace fs = std::filesystem;

// "model name : AMD EPYC" of /proc/cpuinfo; ARM kernels have no such line.
std::string processorName()
{
    std::ifstream stream("/proc/cpuinfo");
    std::string line;
    while (std::getline(stream, line)) {
        if (!line.starts_with("model name"))
            continue;
        const auto colon = line.find(": ");
        if (colon != std::string::npos)
            return line.substr(colon + 2);
    }
    utsname names{};
    return ::uname(&names) == 0 ? std::string(names.machine) : "unknown";
}

// "Debian GNU/Linux 12 (bookworm), Linux 6.1.0"
std::string systemName()
{
    std::string name;
    std::ifstream stream("/etc/os-release");
    std::string line;
    while (std::getline(stream, line)) {
        if (!line.starts_with("PRETTY_NAME="))
            continue;
        name = line.substr(line.find('=') + 1);
        std::erase(name, '"');
    }
    utsname names{};
    if (::uname(&names) == 0)
        name += fmt::format("{}{} {}", name.empty() ? "" : ", ", names.sysname, names.release);
    return name;
}

int logicalProcessors()
{
    cpu_set_t allowed;
    if (::sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        return CPU_COUNT(&allowed);
    return std::max(1u, std::thread::hardware_concurrency());
}

std::optional<std::uint64_t> numberIn(const fs::path& file)
{
    std::ifstream stream(file);
    std::uint64_t number = 0;
    if (stream >> number)
        return number;
    return std::nullopt;  // missing, or "max"
}

// The tightest limit of this process's control group and those around it, version 2 or 1; "no limit" is written there
// as a number near 2^63.
std::optional<std::uint64_t> controlGroupMemory(std::uint64_t machineBytes)
{
    std::optional<std::uint64_t> limit;
    const auto consider = [&](fs::path folder, const fs::path& root, const char* name) {
        for (;; folder = folder.parent_path()) {
            if (const auto bytes = numberIn(folder / name); bytes && *bytes < machineBytes)
                limit = std::min(limit.value_or(*bytes), *bytes);
            if (folder == root || !folder.has_relative_path())
                return;
        }
    };
    std::ifstream stream("/proc/self/cgroup");
    std::string line;
    while (std::getline(stream, line)) {
        const auto first = line.find(':');
        const auto second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos)
            continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        const std::string path = line.substr(std::min(second + 2, line.size()));
        if (controllers.empty())
            consider(fs::path("/sys/fs/cgroup") / path, "/sys/fs/cgroup", "memory.max");
        else if (controllers.find("memory") != std::string::npos)
            consider(fs::path("/sys/fs/cgroup/memory") / path, "/sys/fs/cgroup/memory", "memory.limit_in_bytes");
    }
    return limit;
}

}  // namespace

MachineInfo describeMachine()
{
    MachineInfo machine;
    machine.cpu = processorName();
    machine.cores = kernels::physicalCores();
    machine.threads = logicalProcessors();
    for (kernels::Isa isa : kernels::availableIsas())
        machine.isas.emplace_back(kernels::isaName(isa));
    machine.memoryBytes =
        static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    machine.cgroupMemoryBytes = controlGroupMemory(machine.memoryBytes);
    machine.os = systemName();
    machine.gpuReason = "this build has no CUDA backend";
    return machine;
}

std::uint64_t peakResidentBytes()
{
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;  // Linux counts in kilobytes
}

}  // namespace tokenscope
