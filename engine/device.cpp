#include "engine/device.h"

#include "kernels/reference/reference_backend.h"

#include <algorithm>
#include <cassert>
#include <string>

#include <fmt/format.h>

namespace tokenscope {

IsaChoice isaChoice(kernels::Isa isa)
{
    switch (isa) {
    case kernels::Isa::Scalar:
        return IsaChoice::Scalar;
    case kernels::Isa::Avx2:
        return IsaChoice::Avx2;
    case kernels::Isa::Avx512:
        return IsaChoice::Avx512;
    case kernels::Isa::Neon:
        return IsaChoice::Neon;
    }
    return IsaChoice::Scalar;
}

kernels::Isa kernelIsa(IsaChoice choice)
{
    assert(choice != IsaChoice::Auto);
    for (const kernels::Isa isa : kernels::kAllIsas)
        if (isaChoice(isa) == choice)
            return isa;
    return kernels::Isa::Scalar;
}

Result<EffectiveDevice> resolveDevice(const EngineSettings& settings)
{
    const int cores = kernels::physicalCores();
    const int mostThreads = 4 * cores;
    if (settings.threads < 0 || settings.threads > mostThreads)
        return fail(ErrorCode::BadSetting, "threads={}: expected 1 to {} (four times the {} cores)", settings.threads,
                    mostThreads, cores);
    if (settings.device == Device::Reference)
        return EffectiveDevice{Device::Reference, IsaChoice::Scalar, 1};

    const std::vector<kernels::Isa>& available = kernels::availableIsas();
    const IsaChoice isa = settings.isa == IsaChoice::Auto ? isaChoice(available.back()) : settings.isa;
    if (std::find(available.begin(), available.end(), kernelIsa(isa)) == available.end()) {
        std::string names;
        for (kernels::Isa present : available)
            names += (names.empty() ? "" : ", ") + std::string(kernels::isaName(present));
        return fail(ErrorCode::BadSetting, "isa={}: this processor has {}", kernels::isaName(kernelIsa(isa)), names);
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
