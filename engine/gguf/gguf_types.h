// Numbers of the GGUF format, and the layouts of tensor formats this program can name and measure but not compute with.
#pragma once

#include <cstdint>
#include <string>

namespace tokenscope {

// Type tags of metadata values, as they stand in the file.
enum class GgufValueType : std::uint32_t {
    Uint8 = 0,
    Int8 = 1,
    Uint16 = 2,
    Int16 = 3,
    Uint32 = 4,
    Int32 = 5,
    Float32 = 6,
    Bool = 7,
    String = 8,
    Array = 9,
    Uint64 = 10,
    Int64 = 11,
    Float64 = 12,
};
inline constexpr std::uint32_t kGgufValueTypes = 13;

// Bytes of one value in the file; for a string the length before its text, for an array tag and count.
int minimumBytes(GgufValueType type);

// Limits that no sensible file reaches; what lies below them is also held against the bytes that remain in the file.
inline constexpr std::uint64_t kMaxMetadataKeys = 65'536;
inline constexpr std::uint64_t kMaxTensors = 262'144;
inline constexpr std::uint64_t kMaxKeyBytes = 65'535;          // the specification's
inline constexpr std::uint64_t kMaxTensorNameBytes = 255;      // the specification says 64; some forks write 128
inline constexpr std::uint64_t kMaxStringBytes = 256u << 20;   // an embedded tokenizer.json of 30 MB exists
inline constexpr std::uint64_t kMaxArrayElements = 16u << 20;  // vocabularies have up to 262,144
inline constexpr std::uint32_t kMaxDimensions = 4;
inline constexpr std::uint64_t kMinAlignment = 8;
inline constexpr std::uint64_t kMaxAlignment = 65'536;
inline constexpr std::uint64_t kDefaultAlignment = 32;
inline constexpr std::uint64_t kMaxParts = 1'000;

// Block layout of any tensor format with a known number, also of those kernels/ cannot compute. elements = 0: unknown.
struct GgufBlockLayout {
    int elements = 0;
    int bytes = 0;
};
GgufBlockLayout blockLayout(std::uint32_t typeId);

// "Q4_K"; "type 99" for a number without a name.
std::string tensorTypeName(std::uint32_t typeId);

// For messages: at most 80 bytes on one line, with everything but printable ASCII and valid UTF-8 as \xNN.
std::string printableName(const std::string& text);

}  // namespace tokenscope
