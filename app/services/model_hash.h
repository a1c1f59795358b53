// The SHA-256 of a model file, which names in a run what was measured. Kept in model-hashes.json in the cache directory
// by path, size and time of change, because reading gigabytes takes seconds. Never on the way to a first token.
#pragma once

#include "engine/base/result.h"

#include <atomic>
#include <filesystem>
#include <optional>
#include <string>

namespace tokenscope {

std::optional<std::string> storedModelHash(const std::filesystem::path& cacheDirectory,
                                           const std::filesystem::path& model);

// Hex digits in small letters. Reads the whole file, on whatever thread calls; Cancelled when `cancelled` turns true.
Result<std::string> modelHash(const std::filesystem::path& cacheDirectory, const std::filesystem::path& model,
                              const std::atomic<bool>& cancelled);

}  // namespace tokenscope
