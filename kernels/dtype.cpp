#include "kernels/dtype.h"

#include <array>
#include <cassert>

namespace tokenscope::kernels {
namespace {

constexpr std::array<DTypeInfo, 13> kInfos{{
    {DType::F32, "F32", 1, 4},
    {DType::F16, "F16", 1, 2},
    {DType::Q4_0, "Q4_0", 32, 18},
    {DType::Q4_1, "Q4_1", 32, 20},
    {DType::Q5_0, "Q5_0", 32, 22},
    {DType::Q5_1, "Q5_1", 32, 24},
    {DType::Q8_0, "Q8_0", 32, 34},
    {DType::Q2_K, "Q2_K", 256, 84},
    {DType::Q3_K, "Q3_K", 256, 110},
    {DType::Q4_K, "Q4_K", 256, 144},
    {DType::Q5_K, "Q5_K", 256, 176},
    {DType::Q6_K, "Q6_K", 256, 210},
    {DType::BF16, "BF16", 1, 2},
}};

}  // namespace

std::optional<DTypeInfo> dtypeInfo(std::uint32_t typeId)
{
    for (const DTypeInfo& info : kInfos)
        if (static_cast<std::uint32_t>(info.type) == typeId)
            return info;
    return std::nullopt;
}

const DTypeInfo& dtypeInfo(DType type)
{
    for (const DTypeInfo& info : kInfos)
        if (info.type == type)
            return info;
    assert(!"unknown DType");
    return kInfos[0];
}

std::size_t rowBytes(DType type, std::int64_t elements)
{
    const DTypeInfo& info = dtypeInfo(type);
    assert(elements % info.blockElements == 0);
    return static_cast<std::size_t>(elements / info.blockElements) * static_cast<std::size_t>(info.blockBytes);
}

}  // namespace tokenscope::kernels
