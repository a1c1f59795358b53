// How much memory this process may still take, from what Linux says in /proc and in the control groups (v1 and v2).
#pragma once

#include "engine/plan/budget.h"

#include <filesystem>

namespace tokenscope {

class LinuxMemoryLimit : public MemoryLimit {
public:
    // The folders are a seam for tests; no trailing slash is needed.
    LinuxMemoryLimit(std::filesystem::path procFolder, std::filesystem::path groupFolder);

    // Read anew at every call. Without any readable figure: the largest number there is, so that only a failed
    // allocation says no.
    std::uint64_t availableBytes() const override;

private:
    std::uint64_t availableOfMachine() const;
    std::uint64_t availableOfGroups() const;

    std::filesystem::path m_procFolder;
    std::filesystem::path m_groupFolder;
};

}  // namespace tokenscope
