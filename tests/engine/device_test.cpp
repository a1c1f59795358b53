#include "engine/device.h"

#include "kernels/cpu/cpu_backend.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace tokenscope {
namespace {

TEST(ResolveDevice, AutoIsTheBestInstructionSetOnPhysicalCores)
{
    const EffectiveDevice device = resolveDevice({}).value();
    EXPECT_EQ(device.device, Device::Cpu);
    EXPECT_EQ(isaLabel(device), kernels::isaName(kernels::availableIsas().back()));
    EXPECT_EQ(device.threads, kernels::physicalCores());
}

TEST(ResolveDevice, MoreThanFourThreadsACoreAreRefused)
{
    EngineSettings settings;
    settings.threads = 4 * kernels::physicalCores();
    EXPECT_EQ(resolveDevice(settings)->threads, settings.threads);
    ++settings.threads;
    EXPECT_EQ(resolveDevice(settings).error().code, ErrorCode::BadSetting);
    settings.threads = -1;
    EXPECT_EQ(resolveDevice(settings).error().code, ErrorCode::BadSetting);
}

TEST(ResolveDevice, AnInstructionSetTheProcessorLacksIsRefusedByName)
{
    const auto& available = kernels::availableIsas();
    for (const kernels::Isa isa : kernels::kAllIsas) {
        EngineSettings settings;
        settings.isa = isaChoice(isa);
        const auto device = resolveDevice(settings);
        if (std::find(available.begin(), available.end(), isa) != available.end()) {
            EXPECT_EQ(device->isa, settings.isa);
        } else {
            EXPECT_EQ(device.error().code, ErrorCode::BadSetting);
            EXPECT_NE(device.error().message.find(kernels::isaName(isa)), std::string::npos);
        }
    }
}

TEST(ResolveDevice, TheReferenceHasOneThread)
{
    EngineSettings settings;
    settings.device = Device::Reference;
    EXPECT_EQ(resolveDevice(settings)->threads, 1);
}

TEST(KernelErrors, KeepTheirMeaning)
{
    using kernels::KernelErrorCode;
    EXPECT_EQ(toError({KernelErrorCode::OutOfMemory, "m"}).code, ErrorCode::OutOfMemory);
    EXPECT_EQ(toError({KernelErrorCode::BadWeights, "m"}).code, ErrorCode::BadFile);
    EXPECT_EQ(toError({KernelErrorCode::Cancelled, "m"}).code, ErrorCode::Cancelled);
    EXPECT_EQ(toError({KernelErrorCode::DeviceLost, "m"}).code, ErrorCode::DeviceLost);
    EXPECT_EQ(toError({KernelErrorCode::NotANumber, "m"}).message, "m");
}

}  // namespace
}  // namespace tokenscope
