// The property that guards half the engine, for a short and a long form.
#pragma once

#include "tests/support/engine_harness.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_model.h"

#include "engine/device.h"
#include "kernels/cpu/cpu_backend.h"

#include <bit>
#include <optional>
#include <ostream>
#include <string>

#include <gtest/gtest.h>

namespace tokenscope::determinism {

struct DeviceCase {
    Device device;
    IsaChoice isa;
    std::string name;
};

inline void PrintTo(const DeviceCase& value, std::ostream* out)
{
    *out << value.name;
}

struct ModelCase {
    std::string name;
    test::TestModelSpec spec;
};

inline std::vector<ModelCase> models()
{
    test::TestModelSpec llama;
    llama.type = kernels::DType::Q4_1;
    llama.embeddingType = kernels::DType::Q8_0;
    test::TestModelSpec plain;  // float weights take other kernels
    plain.type = kernels::DType::F16;
    plain.heads = 6;
    plain.kvHeads = 3;
    plain.embedding = 96;
    plain.qkvBias = true;
    test::TestModelSpec gemma = test::smallGemma3();
    gemma.type = kernels::DType::Q5_0;
    return {{"llama_q4_1", llama}, {"llama_f16", plain}, {"gemma3_q5_0", gemma}};
}

inline constexpr int kAllLogits = 1000;  // more than these vocabularies have
inline constexpr int kOutputs = 6;

// Prompts of many lengths; the long ones cross the 256-position pieces of attention.
inline std::vector<TokenId> promptOf(int stranger, int length)
{
    std::vector<TokenId> ids;
    for (int i = 0; i < length; ++i)
        ids.push_back(10 + (i * 37 + stranger * 101 + i * i) % 240);
    return ids;
}

struct Bits {
    std::vector<TokenId> outputs;
    std::vector<std::pair<TokenId, std::uint32_t>> logits;

    bool operator==(const Bits&) const = default;
};

inline Bits bitsOf(const RequestFinished& end)
{
    Bits bits{end.outputIds, {}};
    for (const auto& row : end.topLogits)
        for (const TopLogit& entry : row)
            bits.logits.emplace_back(entry.id, std::bit_cast<std::uint32_t>(entry.logit));
    for (const TokenScore& score : end.scores)
        for (const TopLogit& entry : score.top)
            bits.logits.emplace_back(entry.id, std::bit_cast<std::uint32_t>(entry.logit));
    return bits;
}

inline RequestSpec answerSpec(int stranger, int length)
{
    RequestSpec spec = test::greedySpec(promptOf(stranger, length), kOutputs);
    spec.sampling.ignoreEos = true;
    spec.topLogits = kAllLogits;
    return spec;
}

// What is compared with a sequence alone, computed at once.
struct Effort {
    std::vector<int> lengths;  // of the prompt
    std::vector<int> chunks;
    std::vector<int> strangers;  // in the same steps
};

class DeterminismTest : public ::testing::TestWithParam<DeviceCase> {
protected:
    EngineSettings settings(int threads, int chunk, int batch) const
    {
        EngineSettings made;
        made.device = GetParam().device;
        made.isa = GetParam().isa;
        made.threads = threads;
        made.prefillChunk = chunk;
        made.batch = batch;
        made.context = 320;
        return made;
    }

    // The answer to (0, length), submitted behind and before the same number of strangers.
    Bits answer(const std::filesystem::path& model, const EngineSettings& chosen, int length, int strangers)
    {
        test::EngineHarness harness(makeEngine());
        const auto loaded = harness.load(model, chosen);
        if (!loaded) {
            ADD_FAILURE() << loaded.error().message;
            return {};
        }
        const auto submitStranger = [&](int i) { harness.engine->submit(answerSpec(i, 1 + (i * 53) % 120)); };
        for (int i = 1; i <= strangers / 2; ++i)
            submitStranger(i);
        const RequestId request = harness.engine->submit(answerSpec(0, length));
        for (int i = strangers / 2 + 1; i <= strangers; ++i)
            submitStranger(i);
        const RequestFinished end = harness.finished(request);
        EXPECT_FALSE(end.error.has_value()) << end.error.value_or(Error{}).message;
        EXPECT_EQ(end.outputIds.size(), static_cast<std::size_t>(kOutputs));
        return bitsOf(end);
    }

    std::filesystem::path write(const ModelCase& model)
    {
        const auto path = m_folder.path() / (model.name + ".gguf");
        test::makeTestModel(model.spec).write(path);
        return path;
    }

    void expectTheSameBits(const Effort& effort)
    {
        for (const ModelCase& model : models()) {
            const auto path = write(model);
            for (int length : effort.lengths) {
                const Bits alone = answer(path, settings(1, kWholePrompt, 1), length, 0);
                ASSERT_FALSE(alone.logits.empty());
                for (int chunk : effort.chunks)
                    EXPECT_EQ(answer(path, settings(1 + chunk % 2, chunk, 1), length, 0), alone)
                        << model.name << ", prompt of " << length << ", chunks of " << chunk;
                for (int strangers : effort.strangers)
                    EXPECT_EQ(answer(path, settings(1 + strangers % 2, strangers == 4 ? 17 : 0, 32), length, strangers),
                              alone)
                        << model.name << ", prompt of " << length << ", strangers: " << strangers;
            }
        }
    }

private:
    test::TempFolder m_folder;
};

inline std::vector<DeviceCase> devices()
{
    std::vector<DeviceCase> cases{{Device::Reference, IsaChoice::Auto, "reference"}};
    for (kernels::Isa isa : kernels::availableIsas())
        cases.push_back({Device::Cpu, isaChoice(isa), std::string(kernels::isaName(isa))});
    return cases;
}

}  // namespace tokenscope::determinism
