// aarch64: NEON with dot products, told by the kernel's hardware capabilities.
#include "kernels/cpu/isa_tables.h"
#include "kernels/cpu/matmul_kernels.h"
#include "kernels/cpu/step_kernel_tables.h"
#include "kernels/cpu/vocabulary_kernels.h"

#include <asm/hwcap.h>
#include <sys/auxv.h>

namespace tokenscope::kernels {

// NEON itself belongs to aarch64. Dot products exist from Armv8.2 on, so they also promise everything else that the
// flags of *_neon.cpp in CMakeLists.txt allow the compiler to emit.
std::vector<Isa> detectVectorIsas()
{
    if ((::getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0)
        return {Isa::Neon};
    return {};
}

std::vector<Isa> compiledIsas()
{
    return {Isa::Scalar, Isa::Neon};
}

IsaTables isaTables(Isa isa)
{
    if (isa == Isa::Neon)
        return {neonMatmulKernels(), stepKernelsNeon(), kCeilingsNeon, vocabularyKernelsScalar()};
    return scalarTables();
}

}  // namespace tokenscope::kernels
