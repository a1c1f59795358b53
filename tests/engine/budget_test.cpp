// Memory and work by hand: the shapes of the two reference models, whose sums can be done on paper.
#include "engine/plan/budget.h"

#include "engine/plan/memory_limit.h"
#include "tests/support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace tokenscope {
namespace {

using kernels::DType;
using kernels::LayerProgram;
using kernels::TensorView;
using testing::HasSubstr;

constexpr std::byte kNoData{};

TensorView shape(DType type, std::int64_t rows, std::int64_t cols)
{
    return {&kNoData, type, rows, cols};
}

LayerProgram smollm2Shape()
{
    LayerProgram program;
    program.name = "SmolLM2";
    program.embedding = 576;
    program.feedForward = 1536;
    program.heads = 9;
    program.kvHeads = 3;
    program.headDimK = program.headDimV = 64;
    program.vocabulary = 49'152;
    program.tokenEmbedding = program.head = shape(DType::Q8_0, 49'152, 576);
    program.tiedHead = true;
    program.outputNorm = shape(DType::F32, 1, 576);
    kernels::LayerSpec layer;
    layer.attnNorm = layer.ffnNorm = shape(DType::F32, 1, 576);
    layer.q = layer.attnOutput = shape(DType::Q4_1, 576, 576);
    layer.k = layer.v = shape(DType::Q4_1, 192, 576);
    layer.gate = layer.up = shape(DType::Q4_1, 1536, 576);
    layer.down = shape(DType::Q4_1, 576, 1536);
    program.layers.assign(30, layer);
    return program;
}

LayerProgram gemma3Shape()
{
    LayerProgram program;
    program.name = "Gemma 3";
    program.heads = 4;
    program.kvHeads = 1;
    program.headDimK = program.headDimV = 256;
    program.tokenEmbedding = program.head = shape(DType::Q8_0, 262'144, 640);
    program.tiedHead = true;
    program.layers.resize(18);
    for (std::size_t i = 0; i < 18; ++i)
        program.layers[i].window = i % 6 == 5 ? 0 : 512;
    return program;
}

kernels::StepPlan onePiece(int kvLength, int rows, int logitRows)
{
    kernels::StepPlan plan;
    plan.tokens.assign(static_cast<std::size_t>(rows), 1);
    plan.sequences.push_back({0, rows, kvLength, 0, 0});
    for (int i = rows - logitRows; i < rows; ++i)
        plan.logitRows.push_back(i);
    return plan;
}

constexpr kernels::DeviceMemory kNoWeights{};

TEST(Budget, SmolLm2TakesTwentyThreeKilobytesAToken)
{
    EngineSettings settings;
    settings.context = 1024;
    const auto budget = planMemory(smollm2Shape(), 8192, settings, {96'000'000, 0, 1'000'000}, 1'000'000'000);
    ASSERT_TRUE(budget) << budget.error().message;
    // 30 layers · 3 heads · (64 + 64) elements · 2 bytes
    EXPECT_EQ(budget->kvBytesPerToken, 23'040u);
    EXPECT_EQ(budget->kvBytes, 23'040u * 1024u);
    EXPECT_EQ(budget->totalBytes(), 96'000'000u + 1'000'000u + 23'592'960u);
    EXPECT_EQ(budget->context, 1024);

    settings.kv = KvFormat::F32;
    EXPECT_EQ(planMemory(smollm2Shape(), 8192, settings, kNoWeights, 1'000'000'000)->kvBytesPerToken, 46'080u);
}

TEST(Budget, Gemma3TakesEighteenKilobytesAToken)
{
    EngineSettings settings;
    settings.context = 32'768;
    const auto budget = planMemory(gemma3Shape(), 32'768, settings, kNoWeights, 1'000'000'000);
    ASSERT_TRUE(budget) << budget.error().message;
    EXPECT_EQ(budget->kvBytesPerToken, 18'432u);  // 18 layers · 1 head · 512 elements · 2 bytes
    EXPECT_EQ(budget->kvBytes, 603'979'776u);
}

TEST(Budget, AutomaticContextIsTheSmallestOfTrainingFourThousandAndWhatFits)
{
    const EngineSettings settings;
    const LayerProgram program = smollm2Shape();
    EXPECT_EQ(planMemory(program, 8192, settings, kNoWeights, 1'000'000'000)->context, 4096);
    EXPECT_EQ(planMemory(program, 2000, settings, kNoWeights, 1'000'000'000)->context, 2000);
    // 1,000 tokens' worth of bytes hold 31 blocks.
    EXPECT_EQ(planMemory(program, 8192, settings, kNoWeights, 23'040'000)->context, 31 * 32);
    EXPECT_EQ(planMemory(program, 256, settings, kNoWeights, 1'000'000'000)->context, 256);
}

TEST(Budget, TheLastByteDecidesWhetherTheLeastContextFits)
{
    const EngineSettings settings;
    constexpr std::uint64_t kLeast = 23'040u * 512u;
    EXPECT_EQ(planMemory(smollm2Shape(), 8192, settings, kNoWeights, kLeast)->context, 512);
    const auto refused = planMemory(smollm2Shape(), 8192, settings, kNoWeights, kLeast - 1);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::OutOfMemory);
}

TEST(Budget, RefusalHoldsTheWholeSum)
{
    EngineSettings settings;
    settings.context = 8192;
    settings.batch = 2;
    const auto refused = planMemory(smollm2Shape(), 8192, settings, {96'600'000, 0, 3'000'000}, 200'000'000);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::OutOfMemory);
    EXPECT_THAT(
        refused.error().message,
        HasSubstr("SmolLM2 does not fit: weights 96.6 MB + cache 377.5 MB (8192 tokens × 2 sequences × 23040 bytes) + "
                  "scratch 3.0 MB = 477.1 MB, but 200.0 MB are available"));
}

TEST(Budget, EverySequenceHasWholeBlocks)
{
    EngineSettings settings;
    settings.context = 33;
    settings.batch = 3;
    EXPECT_EQ(planMemory(smollm2Shape(), 8192, settings, kNoWeights, 1'000'000'000)->kvBytes, 23'040u * 32u * 2u * 3u);
}

TEST(Budget, CacheBudgetReplacesContextTimesBatch)
{
    EngineSettings settings;
    settings.batch = 8;
    settings.kvBudgetBytes = 23'040u * 32u * 20u + 5;  // 20 blocks, 640 tokens, and a bit
    const auto budget = planMemory(smollm2Shape(), 8192, settings, kNoWeights, 1'000'000'000);
    ASSERT_TRUE(budget) << budget.error().message;
    EXPECT_EQ(budget->context, 640);
    EXPECT_EQ(budget->kvBytes, 23'040u * 640u);

    settings.context = 641;
    const auto refused = planMemory(smollm2Shape(), 8192, settings, kNoWeights, 1'000'000'000);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::BadSetting);
    EXPECT_THAT(refused.error().message, HasSubstr("holds 640 tokens, a context of 641"));

    settings.context = 0;
    settings.kvBudgetBytes = 1000;
    EXPECT_EQ(planMemory(smollm2Shape(), 8192, settings, kNoWeights, 1'000'000'000).error().code,
              ErrorCode::BadSetting);
}

TEST(Budget, SettingsOutOfRangeAreRefused)
{
    EngineSettings settings;
    settings.batch = 65;
    EXPECT_EQ(planMemory(smollm2Shape(), 8192, settings, kNoWeights, 1u << 30).error().code, ErrorCode::BadSetting);
    settings.batch = 1;
    settings.context = -1;
    EXPECT_EQ(planMemory(smollm2Shape(), 8192, settings, kNoWeights, 1u << 30).error().code, ErrorCode::BadSetting);
}

TEST(Budget, NothingWrapsWhereMemoryIsUnlimited)
{
    EngineSettings settings;
    settings.context = 1 << 28;
    settings.batch = 64;
    settings.kv = KvFormat::F32;
    const auto budget = planMemory(smollm2Shape(), 8192, settings, kNoWeights, ~std::uint64_t{0});
    ASSERT_TRUE(budget) << budget.error().message;
    EXPECT_EQ(budget->kvBytes, (std::uint64_t{1} << 34) * 46'080u);
}

TEST(StepCost, OneTokenOfSmolLm2)
{
    // 99 tokens in the cache; the 100th is computed and its logits wanted.
    const StepCost cost = stepCost(smollm2Shape(), onePiece(99, 1, 1), kernels::CacheType::F16);
    // A layer's matrices: 2 · 576² + 2 · 192 · 576 + 3 · 1,536 · 576 = 3,538,944 elements, 5 bits each; two norms.
    constexpr std::uint64_t kLayerBytes = 3'538'944u * 5u / 8u + 2u * 576u * 4u;
    constexpr std::uint64_t kHeadBytes = 49'152u * 576u / 32u * 34u;
    EXPECT_EQ(cost.weightBytes, 30u * kLayerBytes + 576u * 4u + kHeadBytes);
    EXPECT_EQ(cost.weightBytes, 96'576'768u);
    EXPECT_EQ(cost.kvReadBytes, 23'040u * 100u);
    EXPECT_EQ(cost.kvWriteBytes, 23'040u);
    // Matrices, head, and 9 heads of 64 + 64 for each of 100 keys in 30 layers.
    EXPECT_EQ(cost.macs, 106'168'320u + 28'311'552u + 30u * 9u * 128u * 100u);
}

TEST(StepCost, PrefillWithoutLogitsReadsOneEmbeddingRowAToken)
{
    const StepCost cost = stepCost(smollm2Shape(), onePiece(0, 32, 0), kernels::CacheType::F16);
    constexpr std::uint64_t kLayerBytes = 3'538'944u * 5u / 8u + 2u * 576u * 4u;
    EXPECT_EQ(cost.weightBytes, 30u * kLayerBytes + 32u * (576u / 32u * 34u));
    EXPECT_EQ(cost.kvReadBytes, 23'040u * 32u);
    EXPECT_EQ(cost.kvWriteBytes, 23'040u * 32u);
    EXPECT_EQ(cost.macs, 32u * 106'168'320u + 30u * 9u * 128u * (32u * 33u / 2u));
}

TEST(StepCost, UntiedHeadCostsTheTokensRowsBesides)
{
    LayerProgram program = smollm2Shape();
    const std::uint64_t tied = stepCost(program, onePiece(0, 3, 1), kernels::CacheType::F16).weightBytes;
    program.tiedHead = false;
    EXPECT_EQ(stepCost(program, onePiece(0, 3, 1), kernels::CacheType::F16).weightBytes, tied + 3u * 612u);
}

TEST(StepCost, LocalLayersOfGemmaReadTheirWindowOnly)
{
    // One token at position 999; a key takes 512 elements · 2 bytes = 1,024 bytes a layer; 15 local layers, 3 global.
    const StepCost cost = stepCost(gemma3Shape(), onePiece(999, 1, 0), kernels::CacheType::F16);
    EXPECT_EQ(cost.kvReadBytes, 15u * 512u * 1024u + 3u * 1000u * 1024u);
    EXPECT_EQ(cost.kvReadBytes, 10'936'320u);
    EXPECT_EQ(cost.macs, 4u * 512u * (15u * 512u + 3u * 1000u));
    EXPECT_EQ(stepCost(gemma3Shape(), onePiece(999, 1, 0), kernels::CacheType::F32).kvReadBytes, 2u * 10'936'320u);
}

TEST(StepCost, PieceThatCrossesTheWindowSumsRowByRow)
{
    LayerProgram program = gemma3Shape();
    program.layers.resize(1);  // window 512
    // Positions 510 to 514 see 511, 512, 512, 512, 512 keys; together they read positions 0 to 514, less what all miss.
    const StepCost cost = stepCost(program, onePiece(510, 5, 0), kernels::CacheType::F16);
    EXPECT_EQ(cost.macs, 4u * 512u * (511u + 4u * 512u));
    EXPECT_EQ(cost.kvReadBytes, 515u * 1024u);
    // From 600 on the union is the window and the four rows after the first.
    EXPECT_EQ(stepCost(program, onePiece(600, 5, 0), kernels::CacheType::F16).kvReadBytes, 516u * 1024u);
}

TEST(StepCost, SequencesOfAStepAddUpAndWeightsAreReadOnce)
{
    const LayerProgram program = smollm2Shape();
    kernels::StepPlan plan = onePiece(99, 1, 1);
    plan.tokens.push_back(7);
    plan.sequences.push_back({1, 1, 49, 0, 0});
    plan.logitRows.push_back(1);
    const StepCost cost = stepCost(program, plan, kernels::CacheType::F16);
    EXPECT_EQ(cost.weightBytes, 96'576'768u);
    EXPECT_EQ(cost.kvReadBytes, 23'040u * 150u);
    EXPECT_EQ(cost.kvWriteBytes, 23'040u * 2u);
}

TEST(StepCost, EmptyStepCostsNothing)
{
    const StepCost cost = stepCost(smollm2Shape(), {}, kernels::CacheType::F16);
    EXPECT_EQ(cost.weightBytes + cost.kvReadBytes + cost.kvWriteBytes + cost.macs, 0u);
}

// A machine as its /proc and control groups describe it.
class FakeMachine {
public:
    void write(const std::string& name, const std::string& text) const
    {
        const std::filesystem::path path = m_folder.file(name);
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path) << text;
    }
    std::uint64_t available() const
    {
        return LinuxMemoryLimit(m_folder.file("proc"), m_folder.file("cgroup")).availableBytes();
    }

private:
    test::TempFolder m_folder;
};

TEST(MemoryLimit, WithoutAGroupTheMachineDecides)
{
    const FakeMachine machine;
    machine.write("proc/meminfo", "MemTotal:  4000 kB\nMemFree: 10 kB\nMemAvailable:    3000 kB\n");
    EXPECT_EQ(machine.available(), 3000u * 1024u);
}

TEST(MemoryLimit, Version2GroupLeavesLimitLessUsageAndFilePagesDoNotCount)
{
    const FakeMachine machine;
    machine.write("proc/meminfo", "MemAvailable: 3000 kB\n");
    machine.write("proc/self/cgroup", "0::/user/app\n");
    machine.write("cgroup/user/app/memory.max", "1000000\n");
    machine.write("cgroup/user/app/memory.current", "700000\n");
    machine.write("cgroup/user/app/memory.stat", "anon 500000\nactive_file 50000\ninactive_file 150000\n");
    EXPECT_EQ(machine.available(), 500'000u);
}

TEST(MemoryLimit, GroupAboveBindsToo)
{
    const FakeMachine machine;
    machine.write("proc/meminfo", "MemAvailable: 3000 kB\n");
    machine.write("proc/self/cgroup", "0::/user/app\n");
    machine.write("cgroup/user/app/memory.max", "max\n");
    machine.write("cgroup/user/app/memory.current", "700000\n");
    machine.write("cgroup/user/memory.max", "900000\n");
    machine.write("cgroup/user/memory.current", "800000\n");
    EXPECT_EQ(machine.available(), 100'000u);
}

TEST(MemoryLimit, Version1GroupIsFoundAtItsRootInsideAContainer)
{
    const FakeMachine machine;
    machine.write("proc/meminfo", "MemAvailable: 3000 kB\n");
    machine.write("proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/outside/of/view\n0::/\n");
    machine.write("cgroup/memory/memory.limit_in_bytes", "2000000\n");
    machine.write("cgroup/memory/memory.usage_in_bytes", "500000\n");
    machine.write("cgroup/memory/memory.stat", "cache 1\ntotal_inactive_file 100000\ntotal_active_file 0\n");
    EXPECT_EQ(machine.available(), 1'600'000u);
}

TEST(MemoryLimit, UsageAboveTheLimitLeavesNothing)
{
    const FakeMachine machine;
    machine.write("proc/self/cgroup", "0::/\n");
    machine.write("cgroup/memory.max", "1000\n");
    machine.write("cgroup/memory.current", "5000\n");
    EXPECT_EQ(machine.available(), 0u);
}

TEST(MemoryLimit, ThisMachineHasSome)
{
    EXPECT_GT(systemMemoryLimit().availableBytes(), 1u << 20);
}

}  // namespace
}  // namespace tokenscope
