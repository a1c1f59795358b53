// From a format named at run time to a layout known at compile time. Private to the matmul files. In an anonymous
// namespace, because the files compiled for one instruction set include it.
#pragma once

#include "kernels/cpu/matmul.h"
#include "kernels/cpu/matmul_layout.h"

namespace tokenscope::kernels {
namespace {

// Columns that are no multiple of a block occur with float weights only; then there is no quantised form.
constexpr std::size_t quantizedBytes(int rows, int cols)
{
    const std::size_t bytes = static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols / layout::kBlock) *
                              sizeof(layout::ActivationBlock);
    return (bytes + 63) / 64 * 64;
}
inline float* floatActivations(const Activations& x)
{
    return reinterpret_cast<float*>(x.data + quantizedBytes(x.rows, x.cols));
}

// Calls visitor.template operator()<layout>() with the layout of a quantised format; nothing for float formats.
template <typename Visitor>
inline void withLayout(DType type, Visitor&& visitor)
{
    switch (type) {
    case DType::Q4_0:
        return visitor.template operator()<layout::kQ4_0>();
    case DType::Q4_1:
        return visitor.template operator()<layout::kQ4_1>();
    case DType::Q5_0:
        return visitor.template operator()<layout::kQ5_0>();
    case DType::Q5_1:
        return visitor.template operator()<layout::kQ5_1>();
    case DType::Q8_0:
        return visitor.template operator()<layout::kQ8_0>();
    case DType::Q2_K:
        return visitor.template operator()<layout::kQ2_K>();
    case DType::Q3_K:
        return visitor.template operator()<layout::kQ3_K>();
    case DType::Q4_K:
        return visitor.template operator()<layout::kQ4_K>();
    case DType::Q5_K:
        return visitor.template operator()<layout::kQ5_K>();
    case DType::Q6_K:
        return visitor.template operator()<layout::kQ6_K>();
    case DType::F32:
    case DType::F16:
    case DType::BF16:
        return;
    }
}

// Where the code plane of a group begins.
template <layout::QuantLayout L>
constexpr int scalePlaneBytes(int cols)
{
    using namespace layout;
    const int blocks = cols / kBlock;
    const int bytes = blocks * blockScaleBytes(L.scales) +
                      (isSuper(L.scales) ? blocks / kSuperBlocks * superHeaderBytes(L.scales) : 0);
    return (bytes + kVectorBytes - 1) / kVectorBytes * kVectorBytes;
}

// Where the scale bytes of a block lie in the scale plane; those of a k-quant's 256 columns stand at their header.
template <layout::QuantLayout L>
constexpr int superOffset(int superBlock)
{
    using namespace layout;
    return superBlock * (superHeaderBytes(L.scales) + kSuperBlocks * blockScaleBytes(L.scales));
}
template <layout::QuantLayout L>
constexpr int blockScaleOffset(int block)
{
    using namespace layout;
    if constexpr (isSuper(L.scales))
        return superOffset<L>(block / kSuperBlocks) + superHeaderBytes(L.scales) +
               block % kSuperBlocks * blockScaleBytes(L.scales);
    else
        return block * blockScaleBytes(L.scales);
}

}  // namespace
}  // namespace tokenscope::kernels
