// Writes GGUF files for tests, down to fields that contradict each other: everything the format holds can be set apart
// from what would be right, so that a test damages exactly one thing.
#pragma once

#include "kernels/dtype.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tokenscope::test {

// The little-endian bytes of a number as they stand in the file.
template <typename T>
std::string rawBytes(T value)
{
    return {reinterpret_cast<const char*>(&value), sizeof value};
}
// A string value with its length before it.
std::string rawString(std::string_view text);

struct WrittenKey {
    std::string key;
    std::uint32_t type = 0;                  // the tag, GgufValueType
    std::string payload;                     // what follows the tag, as raw bytes
    std::optional<std::uint64_t> keyLength;  // instead of the right one
};

struct WrittenTensor {
    std::string name;
    std::vector<std::uint64_t> dimensions;  // ne0 first
    std::uint32_t typeId = 0;
    std::string data;                                // or, for large tensors:
    std::function<void(std::ostream&)> produceData;  // writes exactly `dataBytes`
    std::uint64_t dataBytes = 0;                     // with produceData only
    std::optional<std::uint64_t> nameLength;         // instead of the right ones
    std::optional<std::uint32_t> dimensionCount;
    std::optional<std::uint64_t> offset;

    std::uint64_t bytes() const { return produceData ? dataBytes : data.size(); }
};

class GgufWriter {
public:
    std::string magic = "GGUF";
    std::uint32_t version = 3;
    std::uint64_t alignment = 32;           // of the data; add "general.alignment" too if another is meant honestly
    std::optional<std::uint64_t> keyCount;  // instead of the right ones
    std::optional<std::uint64_t> tensorCount;
    std::vector<WrittenKey> keys;
    std::vector<WrittenTensor> tensors;

    // Each replaces a key of that name, else appends it.
    void setUint32(const std::string& key, std::uint32_t value);
    void setUint64(const std::string& key, std::uint64_t value);
    void setInt32(const std::string& key, std::int32_t value);
    void setFloat(const std::string& key, float value);
    void setBool(const std::string& key, bool value);
    void setString(const std::string& key, std::string_view value);
    void setStrings(const std::string& key, const std::vector<std::string>& values);
    void setFloats(const std::string& key, const std::vector<float>& values);
    void setInt32s(const std::string& key, const std::vector<std::int32_t>& values);
    void setRaw(const std::string& key, std::uint32_t type, std::string payload);
    void remove(const std::string& key);

    // Null if absent.
    WrittenKey* findKey(std::string_view key);
    WrittenTensor* findTensor(std::string_view name);
    void removeTensor(std::string_view name);

    void writeTo(std::ostream& out) const;
    std::string bytes() const;
    void write(const std::filesystem::path& path) const;

    // The same model as `parts` files with the keys of a split model; tensors are dealt out in order.
    std::vector<GgufWriter> splitInto(int parts) const;
};

// Writes the parts as FOLDER/STEM-00001-of-0000N.gguf and returns the paths.
std::vector<std::filesystem::path> writeSplit(const std::vector<GgufWriter>& parts, const std::filesystem::path& folder,
                                              const std::string& stem);

}  // namespace tokenscope::test
