#include "kernels/cpu/step_kernels.h"

#include "kernels/cpu/step_kernel_tables.h"

namespace tokenscope::kernels {

const StepKernels& stepKernels(Isa isa)
{
    switch (isa) {
#if defined(__x86_64__)
    case Isa::Avx512:
        return stepKernelsAvx512();
    case Isa::Avx2:
        return stepKernelsAvx2();
#else
    case Isa::Avx512:
    case Isa::Avx2:
#endif
    case Isa::Scalar:
        break;
    }
    return stepKernelsScalar();
}

}  // namespace tokenscope::kernels
