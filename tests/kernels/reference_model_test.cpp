// The short form: two prompts by eight steps. The whole set is full_reference_model_test.cpp.
#include "kernels/reference/reference_backend.h"
#include "tests/support/reference_values.h"
#include "tests/support/test_data.h"

#include <gtest/gtest.h>

namespace tokenscope::kernels {
namespace {

void expectExact(const std::filesystem::path& path, const char* name)
{
    const auto model = test::loadFile(path, *makeReferenceBackend());
    const auto prompts = test::greedyPrompts(name);
    // The two shortest prompts, to be quick.
    const auto d = test::compareGreedy(*model, std::span(prompts).subspan(3, 2), CacheType::F32, 8);
    EXPECT_EQ(d.steps, 16);
    EXPECT_LT(d.largestLogit, 2e-3);
    EXPECT_LT(d.largestLogSumExp, 2e-3);
    EXPECT_EQ(d.otherIds, 0);
}

TEST(ReferenceModel, Smollm2AgreesWithTheReferenceValues)
{
    if (!test::smollm2())
        GTEST_SKIP() << test::kNoModel;
    expectExact(*test::smollm2(), "smollm2");
}

TEST(ReferenceModel, Gemma3AgreesWithTheReferenceValues)
{
    if (!test::gemma3())
        GTEST_SKIP() << test::kNoModel;
    expectExact(*test::gemma3(), "gemma3");
}

}  // namespace
}  // namespace tokenscope::kernels
