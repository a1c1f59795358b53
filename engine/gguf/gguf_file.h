// Reads GGUF v2 and v3 files, single or split, into an immutable description. No tensor data is touched; every count,
// length and offset is checked against the bytes that remain before anything is allocated (engine.md 4.7's list).
#pragma once

#include "engine/base/result.h"
#include "kernels/dtype.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tokenscope {

// A metadata value: scalars widened, strings as bytes (UTF-8 is not assumed), arrays of one type.
using GgufScalar = std::variant<std::uint64_t, std::int64_t, double, bool, std::string>;
struct GgufArray {
    std::variant<std::vector<std::uint64_t>, std::vector<std::int64_t>, std::vector<double>, std::vector<bool>,
                 std::vector<std::string>>
        values;
};
using GgufValue = std::variant<std::uint64_t, std::int64_t, double, bool, std::string, GgufArray>;

struct GgufTensor {
    std::string name;
    std::uint32_t typeId = 0;         // may be one this program does not know
    std::vector<std::int64_t> shape;  // ne0 first, 1 … 4 dimensions
    std::uint64_t elements = 0;
    std::uint64_t bytes = 0;       // 0 where the type is unknown
    int part = 0;                  // file of a split model
    std::uint64_t fileOffset = 0;  // from the start of that file
};

// Read-only mapping of the parts; a tensor's bytes stay valid as long as it lives. Where a file is cut short under the
// mapping its bytes read as zeros, and checkUnchanged() says so: ask it after the last read, before using the result.
class GgufMapping {
public:
    virtual ~GgufMapping() = default;
    virtual std::span<const std::byte> tensorBytes(const GgufTensor& tensor) const = 0;
    // Tells the system that the pages of this tensor are not needed any more.
    virtual void release(const GgufTensor& tensor) const = 0;
    // FileAccess if a part is shorter now than when it was opened or could not be read.
    virtual Result<void> checkUnchanged() const = 0;
};

class GgufFile {
public:
    // BadFile with the key or tensor, the value and the limit; FileAccess if it cannot be read. For a split model any
    // part's path is accepted and the first is found by its name (…-00001-of-00003.gguf).
    static Result<GgufFile> open(const std::filesystem::path& path);

    std::uint32_t version = 0;
    std::filesystem::path path;  // of the first part
    std::vector<std::filesystem::path> parts;
    // As found by open(); map() refuses a file that is not the same any more.
    struct PartState {
        std::uint64_t bytes = 0;
        std::int64_t modifiedNs = 0;
    };
    std::vector<PartState> partStates;  // one for each of `parts`
    std::uint64_t fileBytes = 0;        // all parts
    std::map<std::string, GgufValue, std::less<>> metadata;
    std::vector<GgufTensor> tensors;  // in file order

    // Typed access: nullopt if absent, BadFile naming key and type if of another kind. Integers of any width and sign
    // are accepted where the value fits.
    Result<std::optional<std::uint64_t>> unsignedValue(std::string_view key) const;
    Result<std::optional<double>> numberValue(std::string_view key) const;
    Result<std::optional<bool>> boolValue(std::string_view key) const;
    Result<std::optional<std::string>> stringValue(std::string_view key) const;
    const std::vector<std::string>* stringArray(std::string_view key) const;  // null if absent or not strings
    Result<std::optional<std::vector<double>>> numberArray(std::string_view key) const;
    const GgufTensor* findTensor(std::string_view name) const;

    // Compares the sizes again, then maps. Throws nothing.
    Result<std::unique_ptr<GgufMapping>> map() const;
};

}  // namespace tokenscope
