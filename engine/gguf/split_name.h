// Names of the parts of a split model: "NAME-00001-of-00003.gguf", counted from 1.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace tokenscope {

struct SplitName {
    std::filesystem::path folder;
    std::string stem;          // what stands before "-00001-of-00003.gguf"
    std::uint64_t number = 0;  // 1 … count
    std::uint64_t count = 0;
};

// nullopt: an ordinary name.
std::optional<SplitName> parseSplitName(const std::filesystem::path& path);
std::filesystem::path splitPath(const SplitName& name, std::uint64_t number);

}  // namespace tokenscope
