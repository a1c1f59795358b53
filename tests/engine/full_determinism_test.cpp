// engine.md 5: the logits of a sequence are the same, bit for bit, alone and among strangers, in any prefill chunking,
// and with any number of threads. On every device of this machine, over whole models with all the engine around them.
#include "tests/engine/determinism.h"

namespace tokenscope::determinism {
namespace {

class FullDeterminism : public DeterminismTest {};

TEST_P(FullDeterminism, LogitsDependOnTheSequenceAlone)
{
    if (GetParam().device == Device::Reference)
        expectTheSameBits({.lengths = {1, 45, 290}, .chunks = {3, 32, 45, 256}, .strangers = {1, 15, 31}});
    else
        expectTheSameBits({.lengths = {1, 2, 31, 32, 33, 64, 255, 256, 257, 313},
                           .chunks = {1, 2, 3, 4, 5, 7, 8, 16, 31, 32, 33, 64, 100, 255, 256, 257, 300},
                           .strangers = {1, 2, 3, 4, 5, 7, 8, 15, 16, 23, 31}});
}

INSTANTIATE_TEST_SUITE_P(Devices, FullDeterminism, ::testing::ValuesIn(devices()),
                         [](const auto& testInfo) { return testInfo.param.name; });

}  // namespace
}  // namespace tokenscope::determinism
