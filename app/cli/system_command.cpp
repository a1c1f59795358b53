#include "app/cli/command_line.h"
#include "app/cli/commands.h"
#include "app/services/machine_service.h"
#include "app/services/paths.h"
#include "engine/engine.h"

#include <memory>

#include <CLI/App.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tokenscope::cli {
namespace {

using nlohmann::json;

json systemDocument(const MachineInfo& machine, const EffectiveDevice& device, const MeasuredCeilings& ceilings,
                    double load)
{
    return {{"version", TOKENSCOPE_VERSION},
            {"cpu", machine.cpu},
            {"cores", machine.cores},
            {"threads", machine.threads},
            {"isa", machine.isas},
            {"memory_bytes", machine.memoryBytes},
            {"cgroup_memory_bytes", machine.cgroupMemoryBytes ? json(*machine.cgroupMemoryBytes) : json(nullptr)},
            {"os", machine.os},
            {"measured_threads", device.threads},
            {"read_bandwidth_bytes_per_s", ceilings.readBytesPerSecond},
            {"int8_macs_per_s", ceilings.int8MacsPerSecond},
            {"f32_macs_per_s", ceilings.f32MacsPerSecond},
            {"ceilings_other_load", load},
            {"gpu", nullptr},
            {"gpu_reason", machine.gpuReason}};
}

std::string summary(const MachineInfo& machine, const EffectiveDevice& device, const MeasuredCeilings& ceilings,
                    double load)
{
    constexpr double kGiga = 1e9;
    constexpr double kGibi = 1024.0 * 1024.0 * 1024.0;
    std::string text;
    text += fmt::format("Processor        {}\n", machine.cpu);
    text += fmt::format("Cores            {} physical, {} logical\n", machine.cores, machine.threads);
    text += fmt::format("Instructions     {}\n", fmt::join(machine.isas, ", "));
    text += fmt::format("Memory           {:.1f} GiB\n", static_cast<double>(machine.memoryBytes) / kGibi);
    if (machine.cgroupMemoryBytes)
        text += fmt::format("Memory limit     {:.1f} GiB (control group)\n",
                            static_cast<double>(*machine.cgroupMemoryBytes) / kGibi);
    text += fmt::format("System           {}\n", machine.os);
    text += fmt::format("Read ceiling     {:.1f} GB/s with {} threads\n", ceilings.readBytesPerSecond / kGiga,
                        device.threads);
    text += fmt::format("8-bit ceiling    {:.1f} G multiply-adds/s\n", ceilings.int8MacsPerSecond / kGiga);
    text += fmt::format("f32 ceiling      {:.1f} G multiply-adds/s\n", ceilings.f32MacsPerSecond / kGiga);
    if (load > kQuietLoad)
        text +=
            fmt::format("                 too low: other programs used {:.0f} % of the processors meanwhile; measure "
                        "again with --remeasure on a quiet machine\n",
                        load * 100);
    text += fmt::format("GPU              none: {}\n", machine.gpuReason);
    return text;
}

Result<int> describe(const CommonOptions& options, bool remeasure)
{
    const auto device = resolveDevice(options.settings.engine);
    if (!device)
        return tl::unexpected(device.error());
    auto ceilings = remeasure ? std::nullopt : storedCeilings(cacheDirectory(), *device);
    if (!ceilings) {
        Progress progress(options.quiet);
        progress.show("Measuring (about a second)");
        const auto measured = measureAndStoreCeilings(cacheDirectory(), *device);
        if (!measured)
            return tl::unexpected(measured.error());
        ceilings = *measured;
    }
    const MachineInfo machine = describeMachine();
    const double load = loadWhileMeasured(cacheDirectory(), *device);
    const bool written = options.json ? printJson(systemDocument(machine, *device, *ceilings, load))
                                      : writeOut(summary(machine, *device, *ceilings, load));
    if (!written)
        return tl::unexpected(outputFailed());
    return kDone;
}

}  // namespace

void addSystem(CommandLine& line)
{
    auto remeasure = std::make_shared<bool>(false);
    CLI::App& command =
        line.add("system", "this machine and its measured ceilings", CommandLine::kOutput | CommandLine::kEngine,
                 [remeasure](const CommonOptions& options) { return describe(options, *remeasure); });
    command.add_flag("--remeasure", *remeasure, "measure the ceilings again");
}

}  // namespace tokenscope::cli
