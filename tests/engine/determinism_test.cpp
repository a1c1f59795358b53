// engine.md 5: the logits of a sequence are the same, bit for bit, alone and among strangers, in any prefill chunking,
// and with any number of threads. On every device of this machine, over whole models with all the engine around them.
#include "tests/engine/determinism.h"

namespace tokenscope::determinism {
namespace {

class Determinism : public DeterminismTest {};

TEST_P(Determinism, LogitsDependOnTheSequenceAlone)
{
    // The slow ones briefly: the rest is in full_determinism_test.cpp.
    if (GetParam().device == Device::Reference)
        expectTheSameBits({.lengths = {45}, .chunks = {3, 32}, .strangers = {4}});
    else if (GetParam().isa == IsaChoice::Scalar)
        expectTheSameBits({.lengths = {45}, .chunks = {3, 32}, .strangers = {4, 15}});
    else
        expectTheSameBits({.lengths = {45, 290}, .chunks = {3, 32}, .strangers = {4, 31}});
}

// Every row of a prompt, not only the last.
TEST_P(Determinism, ScoresDependOnTheSequenceAlone)
{
    for (const ModelCase& model : models()) {
        const auto path = write(model);
        const int length = GetParam().device == Device::Reference ? 40 : 270;
        RequestSpec spec;
        spec.prompt = ScorePrompt{promptOf(0, length), kAllLogits};
        std::optional<Bits> alone;
        for (const auto& [threads, chunk, strangers] :
             {std::tuple(1, kWholePrompt, 0), std::tuple(1, 5, 0), std::tuple(2, 0, 7)}) {
            test::EngineHarness harness(makeEngine());
            ASSERT_TRUE(harness.load(path, settings(threads, chunk, 8)).has_value());
            for (int i = 1; i <= strangers; ++i)
                harness.engine->submit(answerSpec(i, 10 * i));
            const RequestFinished end = harness.run(spec);
            EXPECT_EQ(end.scores.size(), static_cast<std::size_t>(length - 1));
            const Bits bits = bitsOf(end);
            if (alone) {
                EXPECT_EQ(bits, *alone) << model.name << ", chunks of " << chunk;
            }
            alone = bits;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Devices, Determinism, ::testing::ValuesIn(devices()),
                         [](const auto& testInfo) { return testInfo.param.name; });

}  // namespace
}  // namespace tokenscope::determinism
