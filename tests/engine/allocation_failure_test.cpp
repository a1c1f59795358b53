// Makes the n-th allocation of the engine's thread fail, for every n until a whole load and two answers get through.
// Each time the engine must stay alive, end every request exactly once, and answer as if nothing had happened
// afterwards.
#include "tests/support/allocation_meter.h"
#include "tests/support/engine_harness.h"
#include "tests/support/fake_model.h"

#include <gtest/gtest.h>

namespace tokenscope {
namespace {

TEST(AllocationFailure, AnyOneAllocationMayFailAndTheEngineGoesOn)
{
    const std::vector<TokenId> prompt{'a', 'b', 'c'};
    const std::vector<TokenId> expected = test::expectedTokens(prompt, 4);
    int refusedLoads = 0;
    int refusedRequests = 0;
    for (long n = 0;; ++n) {
        ASSERT_LT(n, 2000) << "allocations never end";
        test::EngineHarness harness(makeEngine({}, test::makeFakeLoader()));
        EngineSettings settings;
        settings.batch = 2;
        auto failing = std::make_unique<test::FailingAllocation>(n);
        const auto loaded = harness.load("fake.gguf", settings);
        const RequestId first = harness.engine->submit(test::greedySpec(prompt, 4));
        const RequestId second = harness.engine->submit(test::greedySpec(prompt, 4));
        for (RequestId request : {first, second}) {
            const RequestFinished end = harness.finished(request);
            if (!loaded) {
                EXPECT_EQ(loaded.error().code, ErrorCode::OutOfMemory);
                EXPECT_EQ(end.error.value().code, ErrorCode::Busy);
            } else if (end.error) {
                EXPECT_EQ(end.error->code, ErrorCode::OutOfMemory) << "allocation " << n;
                ++refusedRequests;
            } else {
                EXPECT_EQ(end.outputIds, expected) << "allocation " << n;
            }
        }
        const bool failed = failing->hasFailed();
        failing.reset();
        refusedLoads += loaded ? 0 : 1;
        if (!loaded) {
            ASSERT_TRUE(harness.load("fake.gguf", settings).has_value()) << "allocation " << n;
        }
        EXPECT_EQ(harness.run(test::greedySpec(prompt, 4)).outputIds, expected) << "allocation " << n;
        for (RequestId request : {first, second})
            EXPECT_EQ(harness.count<RequestFinished>(request), 1) << "allocation " << n;
        if (!failed)
            break;
    }
    EXPECT_GT(refusedLoads, 5);
    EXPECT_GT(refusedRequests, 10);
}

}  // namespace
}  // namespace tokenscope
