#include "app/services/machine_service.h"

#include "app/services/json_file.h"
#include "app/services/machine_load.h"
#include "engine/base/clock.h"
#include "engine/device.h"
#include "kernels/cpu/ceilings.h"
#include "kernels/cpu/cpu_backend.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
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

// {"ceilings":{"CPU name, 2 threads, avx512":{"read_bandwidth_bytes_per_s","int8_macs_per_s","f32_macs_per_s",
// "other_load","measured_ms"}}}; the reference kernels use plain instructions on one thread.
fs::path ceilingsFile(const fs::path& cacheDirectory)
{
    return cacheDirectory / "ceilings.json";
}

std::string ceilingsKey(const EffectiveDevice& device)
{
    return fmt::format("{}, {} threads, {}", processorName(), device.threads, kernels::isaName(kernelIsa(device.isa)));
}

double positiveIn(const nlohmann::json& object, const char* key)
{
    const auto found = object.find(key);
    return found != object.end() && found->is_number() ? found->get<double>() : 0.0;
}

}  // namespace

std::optional<MeasuredCeilings> storedCeilings(const fs::path& cacheDirectory, const EffectiveDevice& device)
{
    const nlohmann::json document = readJsonFile(ceilingsFile(cacheDirectory));
    const auto all = document.find("ceilings");
    if (all == document.end() || !all->is_object())
        return std::nullopt;
    const auto entry = all->find(ceilingsKey(device));
    if (entry == all->end() || !entry->is_object())
        return std::nullopt;
    const MeasuredCeilings ceilings{positiveIn(*entry, "read_bandwidth_bytes_per_s"),
                                    positiveIn(*entry, "int8_macs_per_s"), positiveIn(*entry, "f32_macs_per_s")};
    if (ceilings.readBytesPerSecond <= 0 || ceilings.int8MacsPerSecond <= 0 || ceilings.f32MacsPerSecond <= 0)
        return std::nullopt;
    return ceilings;
}

double loadWhileMeasured(const fs::path& cacheDirectory, const EffectiveDevice& device)
{
    const nlohmann::json document = readJsonFile(ceilingsFile(cacheDirectory));
    const auto all = document.find("ceilings");
    if (all == document.end() || !all->is_object())
        return 0.0;
    const auto entry = all->find(ceilingsKey(device));
    return entry == all->end() || !entry->is_object() ? 0.0 : positiveIn(*entry, "other_load");
}

Result<MeasuredCeilings> measureAndStoreCeilings(const fs::path& cacheDirectory, const EffectiveDevice& device)
{
    constexpr int kTries = 2;
    MeasuredCeilings best;
    double otherLoad = 1.0;
    for (int i = 0; i < kTries && otherLoad > kQuietLoad; ++i) {
        const auto from = processorTime();
        const auto measured = kernels::measureCeilings({kernelIsa(device.isa), device.threads});
        const auto to = processorTime();
        if (!measured)
            return fail(ErrorCode::Internal,
                        "the ceilings of this machine cannot be measured: " + measured.error().message);
        best.readBytesPerSecond = std::max(best.readBytesPerSecond, measured->readBytesPerSecond);
        best.int8MacsPerSecond = std::max(best.int8MacsPerSecond, measured->int8MacsPerSecond);
        best.f32MacsPerSecond = std::max(best.f32MacsPerSecond, measured->f32MacsPerSecond);
        otherLoad = std::min(otherLoad, from && to ? loadOfOthers(*from, *to) : 0.0);
    }
    const fs::path file = ceilingsFile(cacheDirectory);
    nlohmann::json document = readJsonFile(file);
    if (!document["ceilings"].is_object())
        document["ceilings"] = nlohmann::json::object();
    document["ceilings"][ceilingsKey(device)] = {{"read_bandwidth_bytes_per_s", best.readBytesPerSecond},
                                                 {"int8_macs_per_s", best.int8MacsPerSecond},
                                                 {"f32_macs_per_s", best.f32MacsPerSecond},
                                                 {"other_load", otherLoad},
                                                 {"measured_ms", systemClock().wallMs()}};
    (void)writeJsonFile(file, document);  // a cache: where it cannot be kept it is measured again
    return best;
}

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
