#include "engine/gguf/gguf_parser.h"

#include "engine/gguf/bounded_reader.h"
#include "engine/gguf/gguf_types.h"
#include "engine/gguf/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>
#include <string_view>
#include <unordered_set>

namespace tokenscope {
namespace {

static_assert(std::endian::native == std::endian::little, "GGUF values are read as they lie in the file");

constexpr std::uint32_t kMagic = 0x46554747;                // "GGUF"
constexpr int kMinKeyValueBytes = 8 + 1 + 4 + 1;            // key length, one letter, type tag, one byte of value
constexpr int kMinTensorInfoBytes = 8 + 1 + 4 + 8 + 4 + 8;  // name, dimension count, one dimension, type, offset

// What a file that is not GGUF probably is.
std::string guessOtherFormat(std::string_view start)
{
    const auto begins = [&](std::string_view with) { return start.starts_with(with); };
    if (begins("tjgg") || begins("fmgg") || begins("lmgg") || begins("algg"))
        return ": it is of a GGML format older than GGUF; convert it with a current converter";
    if (begins("version https://git"))
        return ": it is a Git LFS pointer, not the file itself; fetch it with `git lfs pull`";
    if (begins("PK\x03\x04"))
        return ": it is a ZIP archive (a PyTorch file or a package); unpack or convert it first";
    if (begins("<!DO") || begins("<!do") || begins("<htm") || begins("<HTM"))
        return ": it is a web page, so the download went wrong; fetch the file again";
    if (start.size() > 8 && start[8] == '{')
        return ": it looks like a safetensors file; convert it to GGUF first";
    return fmt::format(": it begins with \"{}\", expected \"GGUF\"", printableName(std::string(start.substr(0, 4))));
}

class Parser {
public:
    Parser(int fd, std::uint64_t fileBytes, const std::string& fileName) : m_reader(fd, fileBytes), m_fileName(fileName)
    {
    }

    Result<GgufPart> parse()
    {
        if (auto ok = readHeader(); !ok)
            return tl::unexpected(ok.error());
        for (std::uint64_t i = 0; i < m_keyCount; ++i)
            if (auto ok = readKeyValue(i); !ok)
                return tl::unexpected(ok.error());
        if (auto ok = readAlignment(); !ok)
            return tl::unexpected(ok.error());
        m_part.tensors.reserve(static_cast<std::size_t>(m_tensorCount));
        for (std::uint64_t i = 0; i < m_tensorCount; ++i)
            if (auto ok = readTensorInfo(i); !ok)
                return tl::unexpected(ok.error());
        if (auto ok = placeTensors(); !ok)
            return tl::unexpected(ok.error());
        return std::move(m_part);
    }

private:
    tl::unexpected<Error> bad(const std::string& what) const
    {
        return fail(ErrorCode::BadFile, "{}: {}", m_fileName, what);
    }
    template <typename... Args>
        requires(sizeof...(Args) > 0)
    tl::unexpected<Error> bad(fmt::format_string<const Args&...> form, const Args&... args) const
    {
        auto error = fail(ErrorCode::BadFile, form, args...);
        error.value().message.insert(0, m_fileName + ": ");
        return error;
    }

    // A read failed although sizes are checked before: the file ended early, shrank or cannot be read.
    tl::unexpected<Error> cut(const std::string& where) const
    {
        if (m_reader.systemError() != 0)
            return fail(ErrorCode::FileAccess, "{}: reading {} at byte {} failed: {}", m_fileName, where,
                        m_reader.position(), std::strerror(m_reader.systemError()));
        return bad("the file ends in {}, after {} bytes; it is truncated, fetch it again", where, m_reader.fileBytes());
    }

    Result<void> readHeader()
    {
        char start[24] = {};
        const std::size_t available =
            static_cast<std::size_t>(std::min<std::uint64_t>(sizeof start, m_reader.fileBytes()));
        if (!m_reader.read(start, available))
            return cut("the header");
        std::uint32_t magic = 0;
        std::memcpy(&magic, start, 4);
        if (available < 4 || magic != kMagic)
            return bad("not a GGUF file" + (available < 4 ? fmt::format(": it has {} bytes", available)
                                                          : guessOtherFormat({start, available})));
        if (available < sizeof start)
            return bad("{} bytes are too few for a GGUF header of 24; the file is truncated, fetch it again",
                       available);
        std::memcpy(&m_part.version, start + 4, 4);
        std::memcpy(&m_tensorCount, start + 8, 8);
        std::memcpy(&m_keyCount, start + 16, 8);
        if (m_part.version != 0 && (m_part.version & 0xFFFF) == 0)
            return bad("the GGUF file is big-endian; only little-endian files are read, convert it with "
                       "`gguf_convert_endian`");
        if (m_part.version == 1)
            return bad("GGUF version 1 is not read any more, expected 2 or 3; convert the model again");
        if (m_part.version < 2 || m_part.version > 3)
            return bad("GGUF version {}, expected 2 or 3", m_part.version);
        if (auto ok = checkCount("metadata keys", m_keyCount, kMinKeyValueBytes, kMaxMetadataKeys); !ok)
            return ok;
        return checkCount("tensors", m_tensorCount, kMinTensorInfoBytes, kMaxTensors);
    }

    // The bytes that remain bound every count before anything is allocated for it; division, so that nothing wraps.
    Result<void> checkCount(const std::string& what, std::uint64_t count, int minimumBytesEach, std::uint64_t limit)
    {
        if (count > limit)
            return bad("{} {}, the limit is {}", count, what, limit);
        if (count > m_reader.remaining() / static_cast<std::uint64_t>(minimumBytesEach))
            return bad("{} {} need at least {} bytes, the file has {} left; it is damaged or truncated", count, what,
                       count * static_cast<std::uint64_t>(minimumBytesEach), m_reader.remaining());
        return {};
    }

    // `where` is a callable, so that the sentence is only made when it is needed.
    template <typename Where>
    Result<void> readString(std::string& out, std::uint64_t limit, Where where)
    {
        std::uint64_t length = 0;
        if (!m_reader.readValue(length))
            return cut(where());
        if (length > limit)
            return bad("the length of {} is {} bytes, the limit is {}", where(), length, limit);
        if (length > m_reader.remaining())
            return bad("the length of {} is {} bytes, the file has {} left; it is damaged or truncated", where(),
                       length, m_reader.remaining());
        if (!m_reader.readText(out, static_cast<std::size_t>(length)))
            return cut(where());
        return {};
    }

    Result<void> readKeyValue(std::uint64_t index)
    {
        std::string key;
        if (auto ok = readString(key, kMaxKeyBytes, [&] { return fmt::format("metadata key {}", index); }); !ok)
            return ok;
        if (key.empty())
            return bad("metadata key {} is empty", index);
        if (!isWellFormedUtf8(key))
            return bad("metadata key {}, \"{}\", is not UTF-8", index, printableName(key));
        if (m_part.metadata.contains(key))
            return bad("metadata key {} appears twice", printableName(key));
        GgufValueType type{};
        if (auto ok = readTypeTag(type, key, "type"); !ok)
            return ok;
        GgufValue value;
        if (auto ok = type == GgufValueType::Array ? readArray(value, key) : readSingle(value, type, key); !ok)
            return ok;
        m_part.metadata.emplace(std::move(key), std::move(value));
        return {};
    }

    Result<void> readTypeTag(GgufValueType& type, const std::string& key, const char* what)
    {
        std::uint32_t tag = 0;
        if (!m_reader.readValue(tag))
            return cut("the " + std::string(what) + " of " + printableName(key));
        if (tag >= kGgufValueTypes)
            return bad("metadata key {} has {} {}, known are 0 to {}", printableName(key), what, tag,
                       kGgufValueTypes - 1);
        type = static_cast<GgufValueType>(tag);
        return {};
    }

    Result<void> readSingle(GgufValue& value, GgufValueType type, const std::string& key)
    {
        const auto number = [&]<typename Stored, typename Widened>(Stored stored, Widened) -> Result<void> {
            if (!m_reader.readValue(stored))
                return cut("the value of " + printableName(key));
            value = static_cast<Widened>(stored);
            return {};
        };
        switch (type) {
        case GgufValueType::Uint8:
            return number(std::uint8_t{}, std::uint64_t{});
        case GgufValueType::Uint16:
            return number(std::uint16_t{}, std::uint64_t{});
        case GgufValueType::Uint32:
            return number(std::uint32_t{}, std::uint64_t{});
        case GgufValueType::Uint64:
            return number(std::uint64_t{}, std::uint64_t{});
        case GgufValueType::Int8:
            return number(std::int8_t{}, std::int64_t{});
        case GgufValueType::Int16:
            return number(std::int16_t{}, std::int64_t{});
        case GgufValueType::Int32:
            return number(std::int32_t{}, std::int64_t{});
        case GgufValueType::Int64:
            return number(std::int64_t{}, std::int64_t{});
        case GgufValueType::Float32:
            return number(float{}, double{});
        case GgufValueType::Float64:
            return number(double{}, double{});
        case GgufValueType::Bool: {
            std::uint8_t byte = 0;
            if (!m_reader.readValue(byte))
                return cut("the value of " + printableName(key));
            if (byte > 1)
                return bad("metadata key {} is a truth value of {}, allowed are 0 and 1", printableName(key), byte);
            value = byte == 1;
            return {};
        }
        case GgufValueType::String: {
            std::string text;
            auto ok = readString(text, kMaxStringBytes, [&] { return printableName(key); });
            value = std::move(text);
            return ok;
        }
        case GgufValueType::Array:
            break;
        }
        return bad("metadata key {} cannot be read", printableName(key));
    }

    template <typename Stored, typename Widened>
    Result<void> readNumbers(GgufValue& value, std::uint64_t count, const std::string& key)
    {
        std::vector<Widened> numbers;
        numbers.reserve(static_cast<std::size_t>(count));
        std::array<Stored, 512> piece;
        while (numbers.size() < count) {
            const std::size_t now =
                std::min<std::size_t>(piece.size(), static_cast<std::size_t>(count) - numbers.size());
            if (!m_reader.read(piece.data(), now * sizeof(Stored)))
                return cut("the values of " + printableName(key));
            for (std::size_t i = 0; i < now; ++i)
                numbers.push_back(static_cast<Widened>(piece[i]));
        }
        value = GgufArray{std::move(numbers)};
        return {};
    }

    Result<void> readBools(GgufValue& value, std::uint64_t count, const std::string& key)
    {
        std::vector<bool> bools(static_cast<std::size_t>(count));
        for (std::size_t i = 0; i < bools.size(); ++i) {
            std::uint8_t byte = 0;
            if (!m_reader.readValue(byte))
                return cut("the values of " + printableName(key));
            if (byte > 1)
                return bad("element {} of {} is a truth value of {}, allowed are 0 and 1", i, printableName(key), byte);
            bools[i] = byte == 1;
        }
        value = GgufArray{std::move(bools)};
        return {};
    }

    Result<void> readStrings(GgufValue& value, std::uint64_t count, const std::string& key)
    {
        std::vector<std::string> strings(static_cast<std::size_t>(count));
        for (std::size_t i = 0; i < strings.size(); ++i)
            if (auto ok = readString(strings[i], kMaxStringBytes,
                                     [&] { return fmt::format("element {} of {}", i, printableName(key)); });
                !ok)
                return ok;
        value = GgufArray{std::move(strings)};
        return {};
    }

    Result<void> readArray(GgufValue& value, const std::string& key)
    {
        GgufValueType type{};
        if (auto ok = readTypeTag(type, key, "element type"); !ok)
            return ok;
        if (type == GgufValueType::Array)
            return bad("metadata key {} is an array of arrays; nesting deeper than 1 is not read", printableName(key));
        std::uint64_t count = 0;
        if (!m_reader.readValue(count))
            return cut("the element count of " + printableName(key));
        if (auto ok = checkCount("elements of " + printableName(key), count, minimumBytes(type), kMaxArrayElements);
            !ok)
            return ok;
        switch (type) {
        case GgufValueType::Uint8:
            return readNumbers<std::uint8_t, std::uint64_t>(value, count, key);
        case GgufValueType::Uint16:
            return readNumbers<std::uint16_t, std::uint64_t>(value, count, key);
        case GgufValueType::Uint32:
            return readNumbers<std::uint32_t, std::uint64_t>(value, count, key);
        case GgufValueType::Uint64:
            return readNumbers<std::uint64_t, std::uint64_t>(value, count, key);
        case GgufValueType::Int8:
            return readNumbers<std::int8_t, std::int64_t>(value, count, key);
        case GgufValueType::Int16:
            return readNumbers<std::int16_t, std::int64_t>(value, count, key);
        case GgufValueType::Int32:
            return readNumbers<std::int32_t, std::int64_t>(value, count, key);
        case GgufValueType::Int64:
            return readNumbers<std::int64_t, std::int64_t>(value, count, key);
        case GgufValueType::Float32:
            return readNumbers<float, double>(value, count, key);
        case GgufValueType::Float64:
            return readNumbers<double, double>(value, count, key);
        case GgufValueType::Bool:
            return readBools(value, count, key);
        case GgufValueType::String:
            return readStrings(value, count, key);
        case GgufValueType::Array:
            break;
        }
        return bad("metadata key {} cannot be read", printableName(key));
    }

    Result<void> readAlignment()
    {
        const auto found = m_part.metadata.find(std::string_view("general.alignment"));
        if (found == m_part.metadata.end())
            return {};
        const auto* alignment = std::get_if<std::uint64_t>(&found->second);
        if (!alignment)
            return bad("general.alignment is a {}, expected an unsigned integer", valueKind(found->second));
        if (*alignment < kMinAlignment || *alignment > kMaxAlignment || !std::has_single_bit(*alignment))
            return bad("general.alignment is {}, expected a power of two from {} to {}", *alignment, kMinAlignment,
                       kMaxAlignment);
        m_alignment = *alignment;
        return {};
    }

    Result<void> readTensorInfo(std::uint64_t index)
    {
        GgufTensor tensor;
        if (auto ok = readString(tensor.name, kMaxTensorNameBytes,
                                 [&] { return fmt::format("the name of tensor {}", index); });
            !ok)
            return ok;
        if (tensor.name.empty())
            return bad("the name of tensor {} is empty", index);
        const std::string name = printableName(tensor.name);
        std::uint32_t dimensions = 0;
        if (!m_reader.readValue(dimensions))
            return cut("tensor " + name);
        if (dimensions == 0 || dimensions > kMaxDimensions)
            return bad("tensor {} has {} dimensions, allowed are 1 to {}", name, dimensions, kMaxDimensions);
        tensor.elements = 1;
        for (std::uint32_t d = 0; d < dimensions; ++d) {
            std::uint64_t extent = 0;
            if (!m_reader.readValue(extent))
                return cut("tensor " + name);
            constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
            if (extent == 0 || extent > kMost)
                return bad("dimension {} of tensor {} is {}, allowed are 1 to {}", d, name, extent, kMost);
            if (__builtin_mul_overflow(tensor.elements, extent, &tensor.elements) || tensor.elements > kMost)
                return bad("the dimensions of tensor {} multiply to more than {} elements (dimension {} is {})", name,
                           kMost, d, extent);
            tensor.shape.push_back(static_cast<std::int64_t>(extent));
        }
        if (!m_reader.readValue(tensor.typeId) || !m_reader.readValue(tensor.fileOffset))
            return cut("tensor " + name);
        if (auto ok = measureTensor(tensor); !ok)
            return ok;
        m_part.tensors.push_back(std::move(tensor));
        return {};
    }

    Result<void> measureTensor(GgufTensor& tensor)
    {
        const std::string name = printableName(tensor.name);
        const GgufBlockLayout layout = blockLayout(tensor.typeId);
        if (layout.elements > 0) {
            const auto blockElements = static_cast<std::uint64_t>(layout.elements);
            if (static_cast<std::uint64_t>(tensor.shape[0]) % blockElements != 0)
                return bad("rows of tensor {} have {} elements, {} needs a multiple of {}", name, tensor.shape[0],
                           tensorTypeName(tensor.typeId), layout.elements);
            if (__builtin_mul_overflow(tensor.elements / blockElements, static_cast<std::uint64_t>(layout.bytes),
                                       &tensor.bytes))
                return bad("tensor {} of {} {} elements takes more than 2^64 bytes", name, tensor.elements,
                           tensorTypeName(tensor.typeId));
        }
        if (tensor.fileOffset % m_alignment != 0)
            return bad("the offset of tensor {} is {}, not a multiple of the alignment {}", name, tensor.fileOffset,
                       m_alignment);
        return {};
    }

    // Offsets in the file count from the data section; makes them absolute and checks them against the size and each
    // other. Padded sums are never built: they are what wraps.
    Result<void> placeTensors()
    {
        if (m_part.tensors.empty())
            return {};
        const std::uint64_t headerEnd = m_reader.position();
        const std::uint64_t dataStart = headerEnd + (m_alignment - headerEnd % m_alignment) % m_alignment;
        std::uint64_t lastEnd = 0;
        const GgufTensor* last = nullptr;
        for (GgufTensor& tensor : m_part.tensors) {
            std::uint64_t end = 0;
            if (__builtin_add_overflow(tensor.fileOffset, dataStart, &tensor.fileOffset) ||
                __builtin_add_overflow(tensor.fileOffset, tensor.bytes, &end))
                return bad("the offset of tensor {} and its {} bytes reach past 2^64", printableName(tensor.name),
                           tensor.bytes);
            if (end > lastEnd || !last) {
                lastEnd = end;
                last = &tensor;
            }
        }
        if (lastEnd > m_reader.fileBytes())
            return bad("tensor {} ends at byte {}, the file has {}: {} bytes are missing; it is damaged or "
                       "truncated, fetch it again",
                       printableName(last->name), lastEnd, m_reader.fileBytes(), lastEnd - m_reader.fileBytes());
        return checkApart();
    }

    Result<void> checkApart()
    {
        std::unordered_set<std::string_view> names;
        for (const GgufTensor& tensor : m_part.tensors)
            if (!names.insert(tensor.name).second)
                return bad("tensor {} appears twice", printableName(tensor.name));
        std::vector<std::uint32_t> order(m_part.tensors.size());
        std::iota(order.begin(), order.end(), 0u);
        std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
            const GgufTensor& first = m_part.tensors[a];
            const GgufTensor& second = m_part.tensors[b];
            return std::pair(first.fileOffset, first.bytes) < std::pair(second.fileOffset, second.bytes);
        });
        for (std::size_t i = 1; i < order.size(); ++i) {
            const GgufTensor& before = m_part.tensors[order[i - 1]];
            const GgufTensor& after = m_part.tensors[order[i]];
            if (before.fileOffset + before.bytes > after.fileOffset)
                return bad("tensor {} begins at byte {}, inside tensor {} that ends at {}", printableName(after.name),
                           after.fileOffset, printableName(before.name), before.fileOffset + before.bytes);
        }
        return {};
    }

    BoundedReader m_reader;
    const std::string& m_fileName;
    GgufPart m_part;
    std::uint64_t m_tensorCount = 0;
    std::uint64_t m_keyCount = 0;
    std::uint64_t m_alignment = kDefaultAlignment;
};

}  // namespace

Result<GgufPart> parseGgufPart(int fd, std::uint64_t fileBytes, const std::string& fileName)
{
    return Parser(fd, fileBytes, fileName).parse();
}

std::string valueKind(const GgufValue& value)
{
    struct Namer {
        std::string operator()(std::uint64_t) const { return "unsigned integer"; }
        std::string operator()(std::int64_t) const { return "signed integer"; }
        std::string operator()(double) const { return "number with a fraction"; }
        std::string operator()(bool) const { return "truth value"; }
        std::string operator()(const std::string&) const { return "string"; }
        std::string operator()(const GgufArray& array) const
        {
            static constexpr std::array kNames{"unsigned integers", "signed integers", "numbers", "truth values",
                                               "strings"};
            return std::string("array of ") + kNames[array.values.index()];
        }
    };
    return std::visit(Namer{}, value);
}

}  // namespace tokenscope
