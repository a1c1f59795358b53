#include "kernels/cpu/isa_tables.h"
#include "kernels/cpu/matmul_kernels.h"
#include "kernels/cpu/step_kernel_tables.h"
#include "kernels/cpu/vocabulary_kernels.h"

namespace tokenscope::kernels {

std::string_view isaName(Isa isa)
{
    switch (isa) {
    case Isa::Scalar:
        return "scalar";
    case Isa::Avx2:
        return "avx2";
    case Isa::Avx512:
        return "avx512";
    case Isa::Neon:
        return "neon";
    }
    return "unknown";
}

const std::vector<Isa>& availableIsas()
{
    static const std::vector<Isa> found = [] {
        std::vector<Isa> isas = detectVectorIsas();
        isas.insert(isas.begin(), Isa::Scalar);
        return isas;
    }();
    return found;
}

IsaTables scalarTables()
{
    return {scalarMatmulKernels(), stepKernelsScalar(), kCeilingsScalar, vocabularyKernelsScalar()};
}

const MatmulKernels& matmulKernels(Isa isa)
{
    return isaTables(isa).matmul;
}

const StepKernels& stepKernels(Isa isa)
{
    return isaTables(isa).step;
}

const VocabularyKernels& vocabularyKernels(Isa isa)
{
    return isaTables(isa).vocabulary;
}

}  // namespace tokenscope::kernels
