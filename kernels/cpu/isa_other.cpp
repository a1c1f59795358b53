// A processor without kernels of its own: the scalar ones serve.
#include "kernels/cpu/isa_tables.h"

namespace tokenscope::kernels {

std::vector<Isa> detectVectorIsas()
{
    return {};
}

std::vector<Isa> compiledIsas()
{
    return {Isa::Scalar};
}

IsaTables isaTables(Isa)
{
    return scalarTables();
}

}  // namespace tokenscope::kernels
