#include "engine/device.h"

#include "kernels/cpu/cpu_backend.h"
#include "kernels/reference/reference_backend.h"

#include <algorithm>
#include <cassert>
#include <string>

#include <fmt/format.h>

namespace tokenscope {
namespace {

kernels::Isa kernelIsa(IsaChoice choice)
{
    assert(choice != IsaChoice::Auto);
    return choice == IsaChoice::Avx512 ? kernels::Isa::Avx512
           : choice == IsaChoice::Avx2 ? kernels::Isa::Avx2
                                       : kernels::Isa::Scalar;
}

IsaChoice choiceOf(kernels::Isa isa)
{
    return isa == kernels::Isa::Avx512 ? IsaChoice::Avx512
           : isa == kernels::Isa::Avx2 ? IsaChoice::Avx2
                                       : IsaChoice::Scalar;
}

}  // namespace

Result<EffectiveDevice> resolveDevice(const EngineSettings& settings)
{
    const int cores = kernels::physicalCores();
    const int mostThreads = 4 * cores;
    if (settings.threads < 0 || settings.threads > mostThreads)
        return fail(ErrorCode::BadSetting, fmt::format("threads={}: expected 1 to {} (four times the {} cores)",
                                                       settings.threads, mostThreads, cores));
    if (settings.device == Device::Reference)
        return EffectiveDevice{Device::Reference, IsaChoice::Scalar, 1};

    const std::vector<kernels::Isa>& available = kernels::availableIsas();
    const IsaChoice isa = settings.isa == IsaChoice::Auto ? choiceOf(available.back()) : settings.isa;
    if (std::find(available.begin(), available.end(), kernelIsa(isa)) == available.end()) {
        std::string names;
        for (kernels::Isa present : available)
            names += (names.empty() ? "" : ", ") + std::string(kernels::isaName(present));
        return fail(ErrorCode::BadSetting,
                    fmt::format("isa={}: this processor has {}", kernels::isaName(kernelIsa(isa)), names));
    }
    return EffectiveDevice{Device::Cpu, isa, settings.threads == 0 ? cores : settings.threads};
}

Result<std::unique_ptr<kernels::Backend>> makeBackend(const EffectiveDevice& device)
{
    if (device.device == Device::Reference)
        return kernels::makeReferenceBackend();
    auto backend = kernels::makeCpuBackend({kernelIsa(device.isa), device.threads});
    if (!backend)
        return fail(ErrorCode::BadSetting, std::move(backend.error().message));
    return std::move(*backend);
}

const char* deviceLabel(Device device)
{
    return device == Device::Reference ? "Reference" : "CPU";
}

std::string_view isaLabel(const EffectiveDevice& device)
{
    if (device.device == Device::Reference)
        return "reference";
    return kernels::isaName(kernelIsa(device.isa));
}

}  // namespace tokenscope
