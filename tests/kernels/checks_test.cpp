#include "kernels/checks.h"
#include "tests/support/tiny_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tokenscope::kernels {
namespace {

using test::TinyProgram;
using ::testing::AllOf;
using ::testing::HasSubstr;

StepPlan twoSequences()
{
    StepPlan plan;
    plan.tokens = {1, 2, 3};
    plan.sequences = {{.firstRow = 0, .rows = 2, .kvLength = 31, .blockTableOffset = 0, .blockCount = 2},
                      {.firstRow = 2, .rows = 1, .kvLength = 0, .blockTableOffset = 2, .blockCount = 1}};
    plan.blockTable = {4, 0, 2};
    plan.logitRows = {1, 2};
    return plan;
}

bool fits(const StepPlan& plan)
{
    return isConsistent(plan, 50, 5);
}

TEST(StepPlanCheck, APlanWithinItsArraysPasses)
{
    EXPECT_TRUE(fits(twoSequences()));
    EXPECT_TRUE(fits(StepPlan{}));
}

TEST(StepPlanCheck, EveryNumberOutOfRangeIsSeen)
{
    const auto broken = [](auto change) {
        StepPlan plan = twoSequences();
        change(plan);
        return !fits(plan);
    };
    EXPECT_TRUE(broken([](StepPlan& p) { p.tokens[0] = 50; }));
    EXPECT_TRUE(broken([](StepPlan& p) { p.tokens[0] = -1; }));
    EXPECT_TRUE(broken([](StepPlan& p) { p.tokens.push_back(1); })) << "a row without a sequence";
    EXPECT_TRUE(broken([](StepPlan& p) { p.tokens.pop_back(); })) << "a sequence without its row";
    EXPECT_TRUE(broken([](StepPlan& p) { p.sequences[1].firstRow = 1; })) << "overlap";
    EXPECT_TRUE(broken([](StepPlan& p) { p.sequences[0].kvLength = -1; }));
    EXPECT_TRUE(broken([](StepPlan& p) { p.sequences[0].kvLength = 63; })) << "65 tokens in two blocks";
    EXPECT_TRUE(broken([](StepPlan& p) { p.sequences[1].blockTableOffset = 3; }));
    EXPECT_TRUE(broken([](StepPlan& p) { p.sequences[1].blockCount = 2; }));
    EXPECT_TRUE(broken([](StepPlan& p) { p.blockTable[1] = 5; }));
    EXPECT_TRUE(broken([](StepPlan& p) { p.blockTable[1] = -1; }));
    EXPECT_TRUE(broken([](StepPlan& p) { p.logitRows = {2, 1}; }));
    EXPECT_TRUE(broken([](StepPlan& p) { p.logitRows = {1, 1}; }));
    EXPECT_TRUE(broken([](StepPlan& p) { p.logitRows = {3}; }));
}

TEST(ShapeCheck, EveryPropertyOfARealArchitecturePasses)
{
    EXPECT_TRUE(checkShapes(TinyProgram({}).program).has_value());
    EXPECT_TRUE(
        checkShapes(
            TinyProgram({.headDimV = 24, .tiedHead = false, .headNorms = true, .postNorms = true, .biases = true})
                .program)
            .has_value());
}

TEST(ShapeCheck, AWrongShapeIsNamedWithBothShapes)
{
    TinyProgram tiny({});
    tiny.program.layers[1].down.cols = 95;
    const auto result = checkShapes(tiny.program);
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, KernelErrorCode::Unsupported);
    EXPECT_THAT(result.error().message, AllOf(HasSubstr("layer 1 down"), HasSubstr("64 × 95"), HasSubstr("64 × 96")));
}

TEST(ShapeCheck, AMissingTensorIsNamed)
{
    TinyProgram tiny({});
    tiny.program.layers[0].q = {};
    EXPECT_THAT(checkShapes(tiny.program).error().message, HasSubstr("layer 0 query is missing"));
}

TEST(ShapeCheck, QueryHeadsMustShareKeyHeadsEvenly)
{
    TinyProgram tiny({.heads = 3, .kvHeads = 2});
    EXPECT_THAT(checkShapes(tiny.program).error().message, HasSubstr("3 query heads cannot share 2"));
}

TEST(ShapeCheck, RowsMustHoldWholeBlocks)
{
    TinyProgram tiny({.embedding = 48});
    tiny.program.layers[0].up.type = DType::Q4_0;
    EXPECT_THAT(checkShapes(tiny.program).error().message,
                AllOf(HasSubstr("48 elements"), HasSubstr("multiple of 32")));
}

TEST(ShapeCheck, RotationMustStayWithinTheHead)
{
    TinyProgram tiny({});
    tiny.program.layers[1].rope.dims = 18;
    EXPECT_THAT(checkShapes(tiny.program).error().message, HasSubstr("layer 1 rotates 18 elements of a head of 16"));
    tiny.program.layers[1].rope.dims = 16;
    tiny.program.layers[1].rope.divisors = {1.0f};
    EXPECT_THAT(checkShapes(tiny.program).error().message, HasSubstr("1 rotation divisors, expected 8"));
}

}  // namespace
}  // namespace tokenscope::kernels
