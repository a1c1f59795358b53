// The published models through the whole engine against tests/data/greedy.json and perplexity.json. Tolerances: those
// files come from weights dequantised exactly and f32/f64 arithmetic, so the reference kernels with an f32 cache are
// close to rounding; 8-bit activations cost what is stated below, measured against the same values.
#pragma once

#include "tests/support/engine_harness.h"
#include "tests/support/test_data.h"

#include "engine/device.h"
#include "engine/tokenizer/tokenizer.h"
#include "kernels/cpu/cpu_backend.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tokenscope::real_models {

struct Path {
    std::string name;
    Device device = Device::Cpu;
    IsaChoice isa = IsaChoice::Auto;
    KvFormat kv = KvFormat::F16;

    bool isExact() const { return device == Device::Reference; }
};

inline void PrintTo(const Path& path, std::ostream* out)
{
    *out << path.name;
}

// The reference kernels with an f32 cache, then each instruction set of this machine with an f16 cache.
inline std::vector<Path> paths()
{
    std::vector<Path> all{{"reference", Device::Reference, IsaChoice::Auto, KvFormat::F32}};
    for (kernels::Isa isa : kernels::availableIsas())
        all.push_back({std::string(kernels::isaName(isa)), Device::Cpu, isaChoice(isa), KvFormat::F16});
    return all;
}

inline std::optional<std::filesystem::path> modelFile(const std::string& model)
{
    return model == "smollm2" ? test::smollm2() : test::gemma3();
}

inline nlohmann::json readJson(const std::string& name)
{
    std::ifstream file(test::dataPath(name));
    return nlohmann::json::parse(file);
}

// What comes out of a computation, in the form of tests/data/greedy.json's steps.
class LoadedEngine : public test::EngineHarness {
public:
    LoadedEngine(const std::string& model, const Path& path) : EngineHarness(makeEngine())
    {
        patience = std::chrono::minutes(20);  // the reference kernels on a busy machine
        EngineSettings settings;
        settings.device = path.device;
        settings.isa = path.isa;
        settings.kv = path.kv;
        settings.context = 512;
        settings.threads = 1;  // the bits are the same with more, and a busy machine is not waited for at every barrier
        const auto loaded = load(*modelFile(model), settings);
        if (!loaded)
            ADD_FAILURE() << loaded.error().message;
    }

    std::vector<TokenScore> score(std::vector<TokenId> ids, int topLogits)
    {
        RequestSpec spec;
        spec.prompt = ScorePrompt{std::move(ids), topLogits};
        RequestFinished end = run(spec);
        EXPECT_FALSE(end.error.has_value()) << end.error.value_or(Error{}).message;
        return end.scores;
    }

    // Window `index` of the GNU GPL as perplexity.json cuts it: consecutive windows of `length`, where the model wants
    // a BOS each begins with it and takes one token less from the text.
    std::vector<TokenId> window(int index, int length)
    {
        const Tokenizer& tokenizer = *engine->modelText()->tokenizer;
        if (m_text.empty())
            m_text = tokenizer.encode(test::readFile(test::dataPath("gpl-3.txt")), false).ids;
        std::vector<TokenId> ids;
        if (tokenizer.addsBos())
            ids.push_back(*tokenizer.bos());
        const auto taken = length - static_cast<int>(ids.size());
        const auto begin = m_text.begin() + index * taken;
        ids.insert(ids.end(), begin, begin + taken);
        return ids;
    }

private:
    std::vector<TokenId> m_text;
};

inline double meanNll(const std::vector<TokenScore>& scores)
{
    double sum = 0.0;
    for (const TokenScore& score : scores)
        sum -= score.logProbability;
    return sum / static_cast<double>(scores.size());
}

struct LogitDifference {
    double sum = 0.0;
    double largest = 0.0;
    int count = 0;

    void add(double difference)
    {
        sum += difference;
        largest = std::max(largest, difference);
        ++count;
    }
};

// Feeds the prompt and the file's own ids, so that one flipped near-tie does not spoil the rest, and compares the
// logits of the first `steps` steps.
inline void expectGreedySteps(LoadedEngine& engine, const nlohmann::json& prompt, const Path& path, int steps,
                              LogitDifference& difference)
{
    std::vector<TokenId> ids = prompt["ids"].get<std::vector<TokenId>>();
    const std::size_t promptLength = ids.size();
    const auto count = std::min<std::size_t>(static_cast<std::size_t>(steps), prompt["steps"].size());
    for (std::size_t i = 0; i < count; ++i)
        ids.push_back(prompt["steps"][i]["id"].get<TokenId>());
    const std::vector<TokenScore> scores = engine.score(ids, 200);
    ASSERT_EQ(scores.size(), ids.size() - 1);
    for (std::size_t i = 0; i < count; ++i) {
        const nlohmann::json& step = prompt["steps"][i];
        const TokenScore& score = scores[promptLength - 1 + i];
        for (const auto& listed : step["top"]) {
            const auto id = listed[0].get<TokenId>();
            const auto found =
                std::find_if(score.top.begin(), score.top.end(), [id](const TopLogit& top) { return top.id == id; });
            ASSERT_NE(found, score.top.end()) << "token " << id << " of step " << i << " is not among the largest 200";
            const double off = std::abs(static_cast<double>(found->logit) - listed[1].get<double>());
            difference.add(off);
            EXPECT_LE(off, path.isExact() ? 2e-3 : 1.2) << "step " << i << ", token " << id;
        }
        const double margin = step["top"][0][1].get<double>() - step["top"][1][1].get<double>();
        if (path.isExact() || margin > 0.5) {
            EXPECT_EQ(score.top.front().id, step["id"].get<TokenId>()) << "step " << i;
        }
        if (path.isExact()) {
            EXPECT_NEAR(score.logSumExp, step["logsumexp"].get<double>(), 2e-3) << "step " << i;
        }
    }
}

}  // namespace tokenscope::real_models
