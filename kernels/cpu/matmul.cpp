#include "kernels/cpu/matmul.h"

#include "kernels/cpu/matmul_dispatch.h"

namespace tokenscope::kernels {

static_assert(kGroupRows == layout::kRows && kGroupRows == layout::kTileRows);

std::size_t activationBytes(int maxRows, int maxCols)
{
    const std::size_t floats = static_cast<std::size_t>(maxRows) * static_cast<std::size_t>(maxCols) * sizeof(float);
    return quantizedBytes(maxRows, maxCols) + (floats + 63) / 64 * 64;
}

bool needsFloatActivations(DType type)
{
    return type == DType::F32 || type == DType::F16 || type == DType::BF16;
}

}  // namespace tokenscope::kernels
