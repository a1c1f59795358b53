// Small JSON files in the cache directory: missing or damaged ones read as an empty object, writing replaces them
// whole.
#pragma once

#include "engine/base/result.h"

#include <filesystem>

#include <nlohmann/json_fwd.hpp>

namespace tokenscope {

nlohmann::json readJsonFile(const std::filesystem::path& path);

// Into a file beside it, then renamed: another process never sees half of it.
Result<void> writeJsonFile(const std::filesystem::path& path, const nlohmann::json& document);

}  // namespace tokenscope
