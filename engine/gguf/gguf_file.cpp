#include "engine/gguf/gguf_file.h"

#include "engine/gguf/file_descriptor.h"
#include "engine/gguf/gguf_parser.h"
#include "engine/gguf/gguf_types.h"
#include "engine/gguf/split_name.h"

#include <fmt/format.h>

#include <new>
#include <unordered_set>

namespace tokenscope {
namespace {

struct OpenedPart {
    GgufPart content;
    std::uint64_t bytes = 0;
    std::int64_t modifiedNs = 0;
};

Result<OpenedPart> openPart(const std::filesystem::path& path)
{
    auto file = FileDescriptor::open(path);
    if (!file)
        return tl::unexpected(file.error());
    auto state = file->state();
    if (!state)
        return tl::unexpected(state.error());
    auto part = parseGgufPart(file->fd(), state->bytes, path.filename().string());
    if (!part)
        return tl::unexpected(part.error());
    return OpenedPart{std::move(*part), state->bytes, state->modifiedNs};
}

// Adds one opened part: the first gives the metadata, all give tensors.
void adopt(GgufFile& file, OpenedPart part, const std::filesystem::path& path)
{
    const int index = static_cast<int>(file.parts.size());
    if (index == 0) {
        file.version = part.content.version;
        file.path = path;
        file.metadata = std::move(part.content.metadata);
    }
    file.parts.push_back(path);
    file.partStates.push_back({part.bytes, part.modifiedNs});
    file.fileBytes += part.bytes;
    for (GgufTensor& tensor : part.content.tensors) {
        tensor.part = index;
        file.tensors.push_back(std::move(tensor));
    }
}

// What the file itself says about its place in a split model.
struct SplitKeys {
    std::uint64_t count = 1;
    std::uint64_t number = 0;
    std::optional<std::uint64_t> tensorCount;
};

Result<SplitKeys> splitKeys(const GgufFile& file)
{
    SplitKeys keys;
    const auto count = file.unsignedValue("split.count");
    const auto number = file.unsignedValue("split.no");
    const auto tensors = file.unsignedValue("split.tensors.count");
    for (const auto* value : {&count, &number, &tensors})
        if (!*value)
            return tl::unexpected(value->error());
    keys.count = count->value_or(1);
    keys.number = number->value_or(0);
    keys.tensorCount = *tensors;
    // gguf-split writes 0 into a file that it merged again.
    if (keys.count == 0)
        return SplitKeys{};
    const std::string name = file.path.filename().string();
    if (keys.count > kMaxParts)
        return fail(ErrorCode::BadFile, "{}: split.count is {}, the limit is {}", name, keys.count, kMaxParts);
    if (keys.number >= keys.count)
        return fail(ErrorCode::BadFile, "{}: split.no is {}, but split.count is {}", name, keys.number, keys.count);
    return keys;
}

Result<void> addPart(GgufFile& file, const std::filesystem::path& path, std::uint64_t index, const SplitKeys& first)
{
    auto part = openPart(path);
    if (!part && part.error().code == ErrorCode::FileAccess)
        return fail(ErrorCode::FileAccess, "part {} of {} of the split model: {}", index + 1, first.count,
                    part.error().message);
    if (!part)
        return tl::unexpected(part.error());
    GgufFile alone;
    alone.path = path;
    alone.metadata = part->content.metadata;
    const auto keys = splitKeys(alone);
    if (!keys)
        return tl::unexpected(keys.error());
    if (keys->count != first.count || keys->number != index)
        return fail(ErrorCode::BadFile, "{}: split.no is {} of {}, expected {} of {}: the parts do not belong together",
                    path.filename().string(), keys->number, keys->count, index, first.count);
    adopt(file, std::move(*part), path);
    return {};
}

Result<void> checkJoined(const GgufFile& file, const SplitKeys& keys)
{
    const std::string name = file.path.filename().string();
    if (keys.tensorCount && *keys.tensorCount != file.tensors.size())
        return fail(ErrorCode::BadFile, "{}: split.tensors.count is {}, but the {} parts hold {} tensors", name,
                    *keys.tensorCount, file.parts.size(), file.tensors.size());
    std::unordered_set<std::string_view> names;
    for (const GgufTensor& tensor : file.tensors)
        if (!names.insert(tensor.name).second)
            return fail(ErrorCode::BadFile, "{}: tensor {} appears again in part {}", name, printableName(tensor.name),
                        tensor.part + 1);
    return {};
}

Result<GgufFile> openAll(const std::filesystem::path& given)
{
    const std::optional<SplitName> splitName = parseSplitName(given);
    const std::filesystem::path first = splitName && splitName->number > 1 ? splitPath(*splitName, 1) : given;
    auto firstPart = openPart(first);
    if (!firstPart && first != given && firstPart.error().code == ErrorCode::FileAccess)
        return fail(ErrorCode::FileAccess, "{} is part {} of a split model: {}", given.filename().string(),
                    splitName->number, firstPart.error().message);
    if (!firstPart)
        return tl::unexpected(firstPart.error());
    GgufFile file;
    adopt(file, std::move(*firstPart), first);
    const auto keys = splitKeys(file);
    if (!keys)
        return tl::unexpected(keys.error());
    const std::string name = first.filename().string();
    if (keys->count == 1) {
        if (first != given)
            return fail(ErrorCode::BadFile, "{}: split.count is 1, but a part numbered {} was opened", name,
                        splitName->number);
        return file;
    }
    if (!splitName)
        return fail(ErrorCode::BadFile,
                    "{}: split.count is {}, but the name does not end in -00001-of-{:05}.gguf, "
                    "so the other parts cannot be found; give the parts their names back",
                    name, keys->count, keys->count);
    if (splitName->count != keys->count)
        return fail(ErrorCode::BadFile, "{}: split.count is {}, but the name says {} parts", name, keys->count,
                    splitName->count);
    if (keys->number != 0)
        return fail(ErrorCode::BadFile, "{}: split.no is {}, expected 0 in the first part", name, keys->number);
    for (std::uint64_t i = 1; i < keys->count; ++i)
        if (auto ok = addPart(file, splitPath(*splitName, i + 1), i, *keys); !ok)
            return tl::unexpected(ok.error());
    if (auto ok = checkJoined(file, *keys); !ok)
        return tl::unexpected(ok.error());
    return file;
}

tl::unexpected<Error> wrongKind(const GgufFile& file, std::string_view key, const GgufValue& value,
                                const char* expected)
{
    return fail(ErrorCode::BadFile, "{}: metadata key {} is a {}, expected {}", file.path.filename().string(),
                printableName(std::string(key)), valueKind(value), expected);
}

}  // namespace

Result<GgufFile> GgufFile::open(const std::filesystem::path& path)
{
    try {
        return openAll(path);
    } catch (const std::bad_alloc&) {
        return fail(ErrorCode::OutOfMemory, path.filename().string() + ": its metadata do not fit into memory");
    }
}

Result<std::optional<std::uint64_t>> GgufFile::unsignedValue(std::string_view key) const
{
    const auto found = metadata.find(key);
    if (found == metadata.end())
        return std::nullopt;
    if (const auto* value = std::get_if<std::uint64_t>(&found->second))
        return *value;
    const auto* value = std::get_if<std::int64_t>(&found->second);
    if (!value)
        return wrongKind(*this, key, found->second, "an integer");
    if (*value < 0)
        return fail(ErrorCode::BadFile, "{}: metadata key {} is {}, expected at least 0", path.filename().string(),
                    printableName(std::string(key)), *value);
    return static_cast<std::uint64_t>(*value);
}

Result<std::optional<double>> GgufFile::numberValue(std::string_view key) const
{
    const auto found = metadata.find(key);
    if (found == metadata.end())
        return std::nullopt;
    if (const auto* value = std::get_if<double>(&found->second))
        return *value;
    if (const auto* value = std::get_if<std::uint64_t>(&found->second))
        return static_cast<double>(*value);
    if (const auto* value = std::get_if<std::int64_t>(&found->second))
        return static_cast<double>(*value);
    return wrongKind(*this, key, found->second, "a number");
}

Result<std::optional<bool>> GgufFile::boolValue(std::string_view key) const
{
    const auto found = metadata.find(key);
    if (found == metadata.end())
        return std::nullopt;
    if (const auto* value = std::get_if<bool>(&found->second))
        return *value;
    return wrongKind(*this, key, found->second, "a truth value");
}

Result<std::optional<std::string>> GgufFile::stringValue(std::string_view key) const
{
    const auto found = metadata.find(key);
    if (found == metadata.end())
        return std::nullopt;
    if (const auto* value = std::get_if<std::string>(&found->second))
        return *value;
    return wrongKind(*this, key, found->second, "a string");
}

const std::vector<std::string>* GgufFile::stringArray(std::string_view key) const
{
    const auto found = metadata.find(key);
    const auto* array = found == metadata.end() ? nullptr : std::get_if<GgufArray>(&found->second);
    return array ? std::get_if<std::vector<std::string>>(&array->values) : nullptr;
}

Result<std::optional<std::vector<double>>> GgufFile::numberArray(std::string_view key) const
{
    const auto found = metadata.find(key);
    if (found == metadata.end())
        return std::nullopt;
    const auto* array = std::get_if<GgufArray>(&found->second);
    if (!array)
        return wrongKind(*this, key, found->second, "an array of numbers");
    if (const auto* numbers = std::get_if<std::vector<double>>(&array->values))
        return *numbers;
    if (const auto* numbers = std::get_if<std::vector<std::uint64_t>>(&array->values))
        return std::vector<double>(numbers->begin(), numbers->end());
    if (const auto* numbers = std::get_if<std::vector<std::int64_t>>(&array->values))
        return std::vector<double>(numbers->begin(), numbers->end());
    return wrongKind(*this, key, found->second, "an array of numbers");
}

const GgufTensor* GgufFile::findTensor(std::string_view name) const
{
    for (const GgufTensor& tensor : tensors)
        if (tensor.name == name)
            return &tensor;
    return nullptr;
}

}  // namespace tokenscope
