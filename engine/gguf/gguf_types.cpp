#include "engine/gguf/gguf_types.h"

#include "engine/gguf/utf8.h"
#include "kernels/dtype.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace tokenscope {
namespace {

struct NamedLayout {
    std::uint32_t id;
    std::string_view name;
    GgufBlockLayout layout;
};

// Formats of ggml that have no kernel here. Sizes: the block structures of ggml-common.h.
constexpr std::array<NamedLayout, 19> kOthers{{
    {9, "Q8_1", {32, 36}},      {15, "Q8_K", {256, 292}},   {16, "IQ2_XXS", {256, 66}}, {17, "IQ2_XS", {256, 74}},
    {18, "IQ3_XXS", {256, 98}}, {19, "IQ1_S", {256, 50}},   {20, "IQ4_NL", {32, 18}},   {21, "IQ3_S", {256, 110}},
    {22, "IQ2_S", {256, 82}},   {23, "IQ4_XS", {256, 136}}, {24, "I8", {1, 1}},         {25, "I16", {1, 2}},
    {26, "I32", {1, 4}},        {27, "I64", {1, 8}},        {28, "F64", {1, 8}},        {29, "IQ1_M", {256, 56}},
    {34, "TQ1_0", {256, 54}},   {35, "TQ2_0", {256, 66}},   {39, "MXFP4", {32, 17}},
}};

constexpr std::size_t kShownBytes = 80;

}  // namespace

int minimumBytes(GgufValueType type)
{
    switch (type) {
    case GgufValueType::Uint8:
    case GgufValueType::Int8:
    case GgufValueType::Bool:
        return 1;
    case GgufValueType::Uint16:
    case GgufValueType::Int16:
        return 2;
    case GgufValueType::Uint32:
    case GgufValueType::Int32:
    case GgufValueType::Float32:
        return 4;
    case GgufValueType::Uint64:
    case GgufValueType::Int64:
    case GgufValueType::Float64:
    case GgufValueType::String:
        return 8;
    case GgufValueType::Array:
        return 12;
    }
    return 1;
}

GgufBlockLayout blockLayout(std::uint32_t typeId)
{
    if (const auto info = kernels::dtypeInfo(typeId))
        return {info->blockElements, info->blockBytes};
    for (const NamedLayout& other : kOthers)
        if (other.id == typeId)
            return other.layout;
    return {};
}

std::string tensorTypeName(std::uint32_t typeId)
{
    if (const auto info = kernels::dtypeInfo(typeId))
        return std::string(info->name);
    for (const NamedLayout& other : kOthers)
        if (other.id == typeId)
            return std::string(other.name);
    return fmt::format("type {}", typeId);
}

std::string printableName(const std::string& text)
{
    std::string shown;
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t length = wellFormedUtf8Length(std::string_view(text).substr(at));
        const auto byte = static_cast<unsigned char>(text[at]);
        std::string piece;
        if (length > 1 || (length == 1 && byte >= 0x20 && byte != 0x7F))
            piece = text.substr(at, length);
        else
            piece = fmt::format("\\x{:02X}", byte);
        if (shown.size() + piece.size() > kShownBytes)
            return shown + "…";
        shown += piece;
        at += length > 0 ? length : 1;
    }
    return shown;
}

}  // namespace tokenscope
