// Every instruction set on both published models against all stored prompts.
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/isa_tables.h"
#include "tests/kernels/real_model.h"

#include <tuple>

namespace tokenscope::kernels::test {
namespace {

class FullCpuModel : public testing::TestWithParam<std::tuple<const char*, Isa>> {};

TEST_P(FullCpuModel, AllPromptsAgreeWithTheExactLogits)
{
    const std::string name = std::get<0>(GetParam());
    const Isa isa = std::get<1>(GetParam());
    const auto& isas = availableIsas();
    if (std::find(isas.begin(), isas.end(), isa) == isas.end())
        GTEST_SKIP() << "this processor has no " << isaName(isa);
    const auto path = name == "smollm2" ? tokenscope::test::smollm2() : tokenscope::test::gemma3();
    if (!path)
        GTEST_SKIP() << tokenscope::test::kNoModel;
    const RealModel model = openModel(*path);
    const auto device = makeCpuBackend({isa, 2}).value()->load(model.program, {}).value();
    const Comparison comparison = compareWithGreedy(*device, model.program, name, 6, 32, CacheType::F16);
    std::printf("%s, %s: mean difference %.3f, largest %.3f of %d logits\n", name.c_str(),
                std::string(isaName(isa)).c_str(), comparison.sum / comparison.logits, comparison.largest,
                comparison.logits);
    expectWithinEightBitTolerance(comparison);
}

INSTANTIATE_TEST_SUITE_P(Models, FullCpuModel,
                         testing::Combine(testing::Values("smollm2", "gemma3"), testing::ValuesIn(compiledIsas())),
                         [](const auto& test) {
                             return std::string(std::get<0>(test.param)) + "_" +
                                    std::string(isaName(std::get<1>(test.param)));
                         });

}  // namespace
}  // namespace tokenscope::kernels::test
