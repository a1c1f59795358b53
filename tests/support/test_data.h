// Where the test data are, and the real models where they have been fetched (packaging/fetch-model.sh).
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace tokenscope::test {

std::filesystem::path dataPath(const std::string& name);  // tests/data/NAME
std::string readFile(const std::filesystem::path& path);

// The published model in $TOKENSCOPE_TEST_MODELS, else in the models folder; nullopt: not here (then GTEST_SKIP with
// kNoModel).
std::optional<std::filesystem::path> smollm2();
std::optional<std::filesystem::path> gemma3();
inline constexpr const char* kNoModel = "the model file is not here: packaging/fetch-model.sh smollm2, gemma3";

}  // namespace tokenscope::test
