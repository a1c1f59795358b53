#include "tests/support/test_data.h"

#include <cstdlib>
#include <fstream>
#include <iterator>

namespace tokenscope::test {
namespace {

std::optional<std::filesystem::path> findModel(const char* name)
{
    std::filesystem::path folder;
    if (const char* models = std::getenv("TOKENSCOPE_TEST_MODELS"))
        folder = models;
    else if (const char* data = std::getenv("XDG_DATA_HOME"); data && *data)
        folder = std::filesystem::path(data) / "tokenscope" / "models";
    else if (const char* home = std::getenv("HOME"))
        folder = std::filesystem::path(home) / ".local/share/tokenscope/models";
    std::error_code error;
    const std::filesystem::path path = folder / name;
    return std::filesystem::exists(path, error) ? std::optional(path) : std::nullopt;
}

}  // namespace

std::filesystem::path dataPath(const std::string& name)
{
    return std::filesystem::path(TOKENSCOPE_TEST_DATA) / name;
}

std::string readFile(const std::filesystem::path& path)
{
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::optional<std::filesystem::path> smollm2()
{
    return findModel("SmolLM2-135M-Instruct.Q4_1.gguf");
}

std::optional<std::filesystem::path> gemma3()
{
    return findModel("gemma-3-270m-q4_k_m.gguf");
}

}  // namespace tokenscope::test
