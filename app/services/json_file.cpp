#include "app/services/json_file.h"

#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace tokenscope {

nlohmann::json readJsonFile(const std::filesystem::path& path)
{
    std::ifstream stream(path, std::ios::binary);
    if (!stream)
        return nlohmann::json::object();
    nlohmann::json document = nlohmann::json::parse(stream, nullptr, false);
    return document.is_object() ? document : nlohmann::json::object();
}

Result<void> writeJsonFile(const std::filesystem::path& path, const nlohmann::json& document)
{
    std::error_code problem;
    std::filesystem::create_directories(path.parent_path(), problem);
    const std::filesystem::path beside = fmt::format("{}.{}", path.string(), ::getpid());
    {
        std::ofstream stream(beside, std::ios::binary);
        stream << document.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
        stream.close();
        if (!stream) {
            std::filesystem::remove(beside, problem);
            return fail(ErrorCode::FileAccess, "{}: cannot be written", path.string());
        }
    }
    std::filesystem::rename(beside, path, problem);
    if (problem)
        return fail(ErrorCode::FileAccess, "{}: cannot be written: {}", path.string(), problem.message());
    return {};
}

}  // namespace tokenscope
