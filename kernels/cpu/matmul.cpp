#include "kernels/cpu/matmul.h"

#include "kernels/cpu/matmul_dispatch.h"
#include "kernels/cpu/matmul_kernels.h"

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

const MatmulKernels& matmulKernels(Isa isa)
{
#if defined(__x86_64__)
    if (isa == Isa::Avx512)
        return avx512MatmulKernels();
    if (isa == Isa::Avx2)
        return avx2MatmulKernels();
#else
    (void)isa;
#endif
    return scalarMatmulKernels();
}

}  // namespace tokenscope::kernels
