// This machine: processor, memory, instruction sets, and its ceilings, which are measured once (about a second) and
// kept in ceilings.json in the cache directory by CPU, threads and instruction set.
#pragma once

#include "engine/base/result.h"
#include "engine/engine.h"
#include "engine/measure/metrics.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tokenscope {

struct MachineInfo {
    std::string cpu;                // "AMD EPYC"
    int cores = 0;                  // physical, that this process may use
    int threads = 0;                // logical
    std::vector<std::string> isas;  // "scalar", "avx2", "avx512", "neon"
    std::uint64_t memoryBytes = 0;
    std::optional<std::uint64_t> cgroupMemoryBytes;
    std::string os;
    std::string gpuReason;  // why there is none: "this build has no CUDA backend"
};
MachineInfo describeMachine();

std::uint64_t peakResidentBytes();  // of this process so far

std::optional<MeasuredCeilings> storedCeilings(const std::filesystem::path& cacheDirectory,
                                               const EffectiveDevice& device);
// Measures and stores; about a second of all threads, two where other programs compute meanwhile: then the better of
// both readings counts. Never call before a first token.
Result<MeasuredCeilings> measureAndStoreCeilings(const std::filesystem::path& cacheDirectory,
                                                 const EffectiveDevice& device);

// The share of the processors that other programs used while the stored ceilings were measured, 0 … 1; 0 where none
// are stored or the system does not tell. Above kQuietLoad (0.1 s of a second on two processors) they may be too low.
double loadWhileMeasured(const std::filesystem::path& cacheDirectory, const EffectiveDevice& device);
inline constexpr double kQuietLoad = 0.05;

}  // namespace tokenscope
