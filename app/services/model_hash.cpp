#include "app/services/model_hash.h"

#include "app/services/json_file.h"

#include <fstream>
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <openssl/evp.h>
#include <sys/stat.h>

namespace tokenscope {
namespace {

namespace fs = std::filesystem;

fs::path hashFile(const fs::path& cacheDirectory)
{
    return cacheDirectory / "model-hashes.json";
}

struct Identity {
    std::string path;  // without links and dots
    std::int64_t bytes = 0;
    std::int64_t changedNs = 0;
};

std::optional<Identity> identify(const fs::path& model)
{
    std::error_code problem;
    const fs::path path = fs::canonical(model, problem);
    struct stat status{};
    if (problem || ::stat(path.c_str(), &status) != 0)
        return std::nullopt;
    return Identity{path.string(), status.st_size, status.st_mtim.tv_sec * 1'000'000'000ll + status.st_mtim.tv_nsec};
}

Result<std::string> hashOf(const fs::path& model, const std::atomic<bool>& cancelled)
{
    std::ifstream stream(model, std::ios::binary);
    if (!stream)
        return fail(ErrorCode::FileAccess, "{}: cannot be read", model.string());
    const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
    if (!context || EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) != 1)
        return fail(ErrorCode::Internal, "libcrypto has no SHA-256");
    std::vector<char> buffer(1u << 20);
    while (stream) {
        if (cancelled)
            return fail(ErrorCode::Cancelled, "{}: reading was cancelled", model.string());
        stream.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
        EVP_DigestUpdate(context.get(), buffer.data(), static_cast<std::size_t>(stream.gcount()));
    }
    if (stream.bad())
        return fail(ErrorCode::FileAccess, "{}: reading failed", model.string());
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int bytes = 0;
    EVP_DigestFinal_ex(context.get(), digest, &bytes);
    std::string hex;
    for (unsigned int i = 0; i < bytes; ++i)
        hex += fmt::format("{:02x}", digest[i]);
    return hex;
}

}  // namespace

std::optional<std::string> storedModelHash(const fs::path& cacheDirectory, const fs::path& model)
{
    const auto identity = identify(model);
    if (!identity)
        return std::nullopt;
    const nlohmann::json stored = readJsonFile(hashFile(cacheDirectory));
    const auto entry = stored.find(identity->path);
    // An entry of another shape compares unequal and is computed again.
    if (entry == stored.end() || !entry->is_object() || !entry->contains("sha256") ||
        !entry->at("sha256").is_string() || !entry->contains("bytes") || entry->at("bytes") != identity->bytes ||
        !entry->contains("changed_ns") || entry->at("changed_ns") != identity->changedNs)
        return std::nullopt;
    return entry->at("sha256").get<std::string>();
}

Result<std::string> modelHash(const fs::path& cacheDirectory, const fs::path& model, const std::atomic<bool>& cancelled)
{
    if (auto stored = storedModelHash(cacheDirectory, model))
        return *stored;
    const auto before = identify(model);
    auto hash = hashOf(model, cancelled);
    const auto after = identify(model);
    if (hash && before && after && before->bytes == after->bytes && before->changedNs == after->changedNs) {
        nlohmann::json stored = readJsonFile(hashFile(cacheDirectory));
        stored[before->path] = {{"bytes", before->bytes}, {"changed_ns", before->changedNs}, {"sha256", *hash}};
        (void)writeJsonFile(hashFile(cacheDirectory), stored);  // a cache: without it the next run reads the file again
    }
    return hash;
}

}  // namespace tokenscope
