#include "tests/support/gguf_writer.h"

#include "engine/gguf/gguf_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace tokenscope::test {
namespace {

std::uint32_t tag(GgufValueType type)
{
    return static_cast<std::uint32_t>(type);
}

std::uint64_t padded(std::uint64_t bytes, std::uint64_t alignment)
{
    return alignment == 0 ? bytes : (bytes + alignment - 1) / alignment * alignment;
}

template <typename T>
std::string rawArray(GgufValueType type, const std::vector<T>& values)
{
    std::string raw = rawBytes(tag(type)) + rawBytes<std::uint64_t>(values.size());
    for (const T& value : values)
        if constexpr (std::is_same_v<T, std::string>)
            raw += rawString(value);
        else
            raw += rawBytes(value);
    return raw;
}

}  // namespace

std::string rawString(std::string_view text)
{
    return rawBytes<std::uint64_t>(text.size()) + std::string(text);
}

void GgufWriter::setRaw(const std::string& key, std::uint32_t type, std::string payload)
{
    if (WrittenKey* found = findKey(key))
        *found = {key, type, std::move(payload), {}};
    else
        keys.push_back({key, type, std::move(payload), {}});
}

void GgufWriter::setUint32(const std::string& key, std::uint32_t value)
{
    setRaw(key, tag(GgufValueType::Uint32), rawBytes(value));
}

void GgufWriter::setUint64(const std::string& key, std::uint64_t value)
{
    setRaw(key, tag(GgufValueType::Uint64), rawBytes(value));
}

void GgufWriter::setInt32(const std::string& key, std::int32_t value)
{
    setRaw(key, tag(GgufValueType::Int32), rawBytes(value));
}

void GgufWriter::setFloat(const std::string& key, float value)
{
    setRaw(key, tag(GgufValueType::Float32), rawBytes(value));
}

void GgufWriter::setBool(const std::string& key, bool value)
{
    setRaw(key, tag(GgufValueType::Bool), rawBytes<std::uint8_t>(value ? 1 : 0));
}

void GgufWriter::setString(const std::string& key, std::string_view value)
{
    setRaw(key, tag(GgufValueType::String), rawString(value));
}

void GgufWriter::setStrings(const std::string& key, const std::vector<std::string>& values)
{
    setRaw(key, tag(GgufValueType::Array), rawArray(GgufValueType::String, values));
}

void GgufWriter::setFloats(const std::string& key, const std::vector<float>& values)
{
    setRaw(key, tag(GgufValueType::Array), rawArray(GgufValueType::Float32, values));
}

void GgufWriter::setInt32s(const std::string& key, const std::vector<std::int32_t>& values)
{
    setRaw(key, tag(GgufValueType::Array), rawArray(GgufValueType::Int32, values));
}

void GgufWriter::remove(const std::string& key)
{
    std::erase_if(keys, [&](const WrittenKey& each) { return each.key == key; });
}

WrittenKey* GgufWriter::findKey(std::string_view key)
{
    const auto found = std::find_if(keys.begin(), keys.end(), [&](const WrittenKey& each) { return each.key == key; });
    return found == keys.end() ? nullptr : &*found;
}

WrittenTensor* GgufWriter::findTensor(std::string_view name)
{
    const auto found =
        std::find_if(tensors.begin(), tensors.end(), [&](const WrittenTensor& each) { return each.name == name; });
    return found == tensors.end() ? nullptr : &*found;
}

void GgufWriter::removeTensor(std::string_view name)
{
    std::erase_if(tensors, [&](const WrittenTensor& each) { return each.name == name; });
}

void GgufWriter::writeTo(std::ostream& out) const
{
    std::string header = magic + rawBytes(version) + rawBytes<std::uint64_t>(tensorCount.value_or(tensors.size())) +
                         rawBytes<std::uint64_t>(keyCount.value_or(keys.size()));
    for (const WrittenKey& key : keys)
        header += rawBytes(key.keyLength.value_or(key.key.size())) + key.key + rawBytes(key.type) + key.payload;
    std::uint64_t offset = 0;
    for (const WrittenTensor& tensor : tensors) {
        header += rawBytes(tensor.nameLength.value_or(tensor.name.size())) + tensor.name;
        header += rawBytes(tensor.dimensionCount.value_or(static_cast<std::uint32_t>(tensor.dimensions.size())));
        for (const std::uint64_t extent : tensor.dimensions)
            header += rawBytes(extent);
        header += rawBytes(tensor.typeId) + rawBytes(tensor.offset.value_or(offset));
        offset = padded(offset + tensor.bytes(), alignment);
    }
    if (!tensors.empty())
        header.resize(padded(header.size(), alignment));
    out.write(header.data(), static_cast<std::streamsize>(header.size()));
    for (const WrittenTensor& tensor : tensors) {
        if (tensor.produceData)
            tensor.produceData(out);
        else
            out.write(tensor.data.data(), static_cast<std::streamsize>(tensor.data.size()));
        const std::string padding(padded(tensor.bytes(), alignment) - tensor.bytes(), '\0');
        out.write(padding.data(), static_cast<std::streamsize>(padding.size()));
    }
}

std::string GgufWriter::bytes() const
{
    std::ostringstream out;
    writeTo(out);
    return std::move(out).str();
}

void GgufWriter::write(const std::filesystem::path& path) const
{
    std::ofstream out(path, std::ios::binary);
    writeTo(out);
}

std::vector<GgufWriter> GgufWriter::splitInto(int parts) const
{
    std::vector<GgufWriter> written(static_cast<std::size_t>(parts));
    for (std::size_t i = 0; i < written.size(); ++i) {
        GgufWriter& part = written[i];
        part.version = version;
        part.alignment = alignment;
        if (i == 0)
            part.keys = keys;
        const std::size_t from = tensors.size() * i / written.size();
        const std::size_t to = tensors.size() * (i + 1) / written.size();
        part.tensors.assign(tensors.begin() + static_cast<std::ptrdiff_t>(from),
                            tensors.begin() + static_cast<std::ptrdiff_t>(to));
        part.setRaw("split.no", tag(GgufValueType::Uint16), rawBytes(static_cast<std::uint16_t>(i)));
        part.setRaw("split.count", tag(GgufValueType::Uint16), rawBytes(static_cast<std::uint16_t>(parts)));
        part.setInt32("split.tensors.count", static_cast<std::int32_t>(tensors.size()));
    }
    return written;
}

std::vector<std::filesystem::path> writeSplit(const std::vector<GgufWriter>& parts, const std::filesystem::path& folder,
                                              const std::string& stem)
{
    std::vector<std::filesystem::path> paths;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        paths.push_back(folder / fmt::format("{}-{:05}-of-{:05}.gguf", stem, i + 1, parts.size()));
        parts[i].write(paths.back());
    }
    return paths;
}

}  // namespace tokenscope::test
