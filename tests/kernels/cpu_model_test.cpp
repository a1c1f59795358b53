// The CPU backend on a published model, short form: full_cpu_model_test.cpp has the rest.
#include "kernels/cpu/cpu_backend.h"
#include "tests/kernels/real_model.h"

namespace tokenscope::kernels::test {
namespace {

TEST(CpuModel, FirstStepsOfTwoPromptsAgreeWithTheExactLogits)
{
    const auto path = tokenscope::test::smollm2();
    if (!path)
        GTEST_SKIP() << tokenscope::test::kNoModel;
    const RealModel model = openModel(*path);
    for (const Isa isa : availableIsas()) {
        SCOPED_TRACE(isaName(isa));
        const auto device = makeCpuBackend({isa, 2}).value()->load(model.program, {}).value();
        // Scalar code computes a token in a tenth of a second: one prompt and three steps of it.
        const bool slow = isa == Isa::Scalar;
        expectWithinEightBitTolerance(
            compareWithGreedy(*device, model.program, "smollm2", slow ? 1 : 2, slow ? 3 : 8, CacheType::F16));
    }
}

}  // namespace
}  // namespace tokenscope::kernels::test
