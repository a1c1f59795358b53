// Whole steps of the CPU backend against the reference backend.
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/isa_tables.h"
#include "kernels/reference/reference_backend.h"
#include "tests/kernels/step_driver.h"
#include "tests/support/tiny_program.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>

namespace tokenscope::kernels::test {
namespace {

using tokenscope::test::TinyProgram;
using tokenscope::test::TinyShape;

std::unique_ptr<DeviceModel> loadCpu(const LayerProgram& program, Isa isa, int threads)
{
    auto backend = makeCpuBackend({isa, threads});
    EXPECT_TRUE(backend.has_value());
    auto model = (*backend)->load(program, {});
    EXPECT_TRUE(model.has_value()) << (model ? "" : model.error().message);
    return model ? std::move(*model) : nullptr;
}

TinyShape llamaKind()
{
    TinyShape shape;
    shape.embedding = 96;
    shape.heads = 6;
    shape.kvHeads = 2;
    return shape;
}

TinyShape gemmaKind()
{
    TinyShape shape;
    shape.layers = 3;
    shape.heads = 4;
    shape.kvHeads = 1;
    shape.headDimK = shape.headDimV = 32;
    shape.window = 40;  // crosses block borders
    shape.headNorms = shape.postNorms = true;
    shape.pairing = RopePairing::HalfSplit;
    shape.activation = Activation::GeluTanh;
    return shape;
}

TinyShape everythingElse()
{
    TinyShape shape = gemmaKind();
    shape.layers = 2;
    shape.heads = 14;  // more query heads of one kv head than a tile has rows
    shape.headDimK = 24;
    shape.headDimV = 40;
    shape.feedForward = 100;  // not a whole number of 16-row groups
    shape.vocabulary = 77;
    shape.tiedHead = false;
    shape.biases = true;
    shape.attentionSoftcap = 5.0f;
    shape.finalSoftcap = 20.0f;
    return shape;
}

struct Case {
    std::string name;
    TinyShape shape;
    Isa isa;
    CacheType cacheType;
};

class CpuStep : public testing::TestWithParam<Case> {
protected:
    void SetUp() override
    {
        const auto& isas = availableIsas();
        if (std::find(isas.begin(), isas.end(), GetParam().isa) == isas.end())
            GTEST_SKIP() << "this processor has no " << isaName(GetParam().isa);
    }
};

std::vector<Case> cases()
{
    std::vector<Case> all;
    for (const Isa isa : compiledIsas()) {
        const std::string suffix = "_" + std::string(isaName(isa));
        all.push_back({"llama" + suffix, llamaKind(), isa, CacheType::F16});
        all.push_back({"gemma" + suffix, gemmaKind(), isa, CacheType::F32});
        all.push_back({"everything" + suffix, everythingElse(), isa, CacheType::F16});
    }
    return all;
}

constexpr CacheSpec kExactCache{64, CacheType::F32};

TEST_P(CpuStep, AgreesWithTheReferenceWithFloatWeightsAndCache)
{
    TinyProgram tiny(GetParam().shape);
    const int vocabulary = tiny.program.vocabulary;
    auto reference = makeReferenceBackend()->load(tiny.program, {}).value();
    auto cpu = loadCpu(tiny.program, GetParam().isa, 2);
    ASSERT_TRUE(cpu);
    StepDriver expected(*reference, vocabulary, kExactCache);
    StepDriver actual(*cpu, vocabulary, kExactCache, 7);

    // A prefill above the private rows, one below, a decode step beside a prefill, each with its own past.
    const std::vector<std::vector<Part>> steps = {
        {{0, randomTokens(70, vocabulary, 1)}},
        {{1, randomTokens(9, vocabulary, 2)}, {0, randomTokens(1, vocabulary, 3)}},
        {{0, randomTokens(1, vocabulary, 4)},
         {1, randomTokens(1, vocabulary, 5)},
         {2, randomTokens(37, vocabulary, 6)}},
    };
    for (const auto& parts : steps) {
        const Logits want = expected.run(parts);
        float largest = 0.0f;
        for (const auto& row : want)
            for (const float v : row)
                largest = std::max(largest, std::abs(v));
        // f32 sums over at most 560 products in a handful of layers: some hundred roundings of 6e-8 of the largest.
        EXPECT_LE(largestDifference(want, actual.run(parts)), 3e-5f * largest);
    }
}

// All logits of one sequence, computed in chunks of these sizes, beside others or not.
Logits chunked(DeviceModel& device, int vocabulary, const std::vector<std::int32_t>& tokens, CacheSpec cache,
               const std::vector<int>& chunks, bool strangers)
{
    StepDriver driver(device, vocabulary, cache, 99);
    Logits all;
    std::size_t done = 0;
    for (std::size_t i = 0; done < tokens.size(); ++i) {
        const auto count = std::min(tokens.size() - done, static_cast<std::size_t>(chunks[i % chunks.size()]));
        std::vector<Part> parts;
        const auto seed = static_cast<std::uint32_t>(i);
        if (strangers)
            parts.push_back({1, randomTokens(1 + static_cast<int>(i % 5), vocabulary, seed), i % 2 == 0});
        const std::size_t before = strangers && i % 2 == 0 ? 1 + i % 5 : 0;
        parts.push_back({0,
                         {tokens.begin() + static_cast<std::ptrdiff_t>(done),
                          tokens.begin() + static_cast<std::ptrdiff_t>(done + count)}});
        if (strangers)
            parts.push_back({2, randomTokens(3, vocabulary, seed + 50), false});
        Logits rows = driver.run(parts);
        for (std::size_t row = before; row < before + count; ++row)
            all.push_back(std::move(rows[row]));
        done += count;
    }
    return all;
}

bool sameBits(const Logits& a, const Logits& b)
{
    if (a.size() != b.size())
        return false;
    for (std::size_t row = 0; row < a.size(); ++row)
        if (std::memcmp(a[row].data(), b[row].data(), a[row].size() * sizeof(float)) != 0)
            return false;
    return true;
}

TEST_P(CpuStep, ARowsBitsDependOnItsOwnSequenceOnly)
{
    TinyProgram tiny(GetParam().shape);
    const int vocabulary = tiny.program.vocabulary;
    const CacheSpec cache{128, GetParam().cacheType};
    const auto tokens = randomTokens(270, vocabulary, 11);  // over the border of a 256-position piece
    auto one = loadCpu(tiny.program, GetParam().isa, 1);
    auto two = loadCpu(tiny.program, GetParam().isa, 2);
    ASSERT_TRUE(one && two);
    const Logits want = chunked(*one, vocabulary, tokens, cache, {1}, false);
    EXPECT_TRUE(sameBits(want, chunked(*one, vocabulary, tokens, cache, {270}, false))) << "one chunk";
    EXPECT_TRUE(sameBits(want, chunked(*one, vocabulary, tokens, cache, {5, 40, 2, 100, 11}, true))) << "strangers";
    EXPECT_TRUE(sameBits(want, chunked(*two, vocabulary, tokens, cache, {243, 1, 1, 16, 1}, false))) << "two threads";
    EXPECT_TRUE(sameBits(want, chunked(*two, vocabulary, tokens, cache, {33, 64, 7, 17}, true)))
        << "two threads, strangers";
}

// StepDriver compares them with a scan of the logits. Threads share chunks where their parts of the head meet.
TEST_P(CpuStep, GivesTheMaximumOfEveryChunkOfTheVocabulary)
{
    TinyShape shape = GetParam().shape;
    shape.vocabulary = 2 * kLogitChunk + 452;
    TinyProgram tiny(shape);
    for (const int threads : {1, 2, 3}) {
        auto cpu = loadCpu(tiny.program, GetParam().isa, threads);
        ASSERT_TRUE(cpu);
        StepDriver driver(*cpu, shape.vocabulary, {64, GetParam().cacheType});
        int sequence = 0;
        for (const int rows : {1, 5, 40, 130}) {
            SCOPED_TRACE(std::to_string(rows) + " rows, " + std::to_string(threads) + " threads");
            driver.run({{sequence++, randomTokens(rows, shape.vocabulary, 5)}});
        }
    }
}

TEST_P(CpuStep, HostThreadsAreThoseOfTheDevice)
{
    TinyProgram tiny(GetParam().shape);
    auto cpu = loadCpu(tiny.program, GetParam().isa, 3);
    ASSERT_TRUE(cpu);
    ASSERT_EQ(cpu->hostThreads(), 3);
    std::vector<int> calls(3, 0);
    cpu->onHostThreads([&](int thread) { ++calls[static_cast<std::size_t>(thread)]; });
    EXPECT_EQ(calls, (std::vector<int>{1, 1, 1}));
}

TEST_P(CpuStep, AStepLongerThanItsPiecesGivesTheSameBits)
{
    TinyShape shape = GetParam().shape;
    shape.layers = 1;
    TinyProgram tiny(shape);
    const int vocabulary = tiny.program.vocabulary;
    const CacheSpec cache{32, GetParam().cacheType};
    const auto tokens = randomTokens(540, vocabulary, 12);
    auto cpu = loadCpu(tiny.program, GetParam().isa, 2);
    ASSERT_TRUE(cpu);
    const Logits whole = chunked(*cpu, vocabulary, tokens, cache, {540}, false);
    EXPECT_TRUE(sameBits(whole, chunked(*cpu, vocabulary, tokens, cache, {200, 20}, false)));
}

INSTANTIATE_TEST_SUITE_P(Isas, CpuStep, testing::ValuesIn(cases()), [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace tokenscope::kernels::test
