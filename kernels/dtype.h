// The tensor formats of GGUF files: their numbers, names and block layouts.
// Source: the GGUF specification and the block structures of ggml (ggml-common.h); checked against
// tests/data/blocks.json.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tokenscope::kernels {

// Values are the type ids used in GGUF files.
enum class DType : std::uint32_t {
    F32 = 0,
    F16 = 1,
    Q4_0 = 2,
    Q4_1 = 3,
    Q5_0 = 6,
    Q5_1 = 7,
    Q8_0 = 8,
    Q2_K = 10,
    Q3_K = 11,
    Q4_K = 12,
    Q5_K = 13,
    Q6_K = 14,
    BF16 = 30,
};

struct DTypeInfo {
    DType type;
    std::string_view name;  // as GGUF tools print it: "Q4_1"
    int blockElements;      // elements of a row that share one block; a row must be a multiple of it
    int blockBytes;
};

// nullopt: an id this program does not know (inspect still lists such a tensor by number).
std::optional<DTypeInfo> dtypeInfo(std::uint32_t typeId);
const DTypeInfo& dtypeInfo(DType type);

// Bytes of one row of `elements`, which must be a multiple of the block.
std::size_t rowBytes(DType type, std::int64_t elements);

}  // namespace tokenscope::kernels
