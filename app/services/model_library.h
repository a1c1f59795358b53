// GGUF files on this machine: the models folder, folders and files the user added, recent ones. Referenced, never
// copied.
#pragma once

#include "engine/base/result.h"
#include "engine/types/model_info.h"
#include "engine/types/settings.h"

#include <filesystem>
#include <string>
#include <vector>

namespace tokenscope {

struct LibraryEntry {
    ModelInfo info;       // as describeModel tells
    std::string problem;  // why the file cannot be read, "" = fine
};

// Any depth, hidden folders skipped, symbolic links not followed into loops; a split model is one entry. Reads headers
// only; may take a while on slow disks, so not on the GUI thread.
std::vector<LibraryEntry> scanModels(const std::vector<std::filesystem::path>& folders);
Result<ModelInfo> inspectModelFile(const std::filesystem::path& path);

// Budget of a file with these settings, before loading (reads headers only).
Result<MemoryBudget> budgetForFile(const std::filesystem::path& path, const EngineSettings& settings);

}  // namespace tokenscope
