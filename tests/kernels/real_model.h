// A published model loaded for a kernel test, and the exact logits stored for it in tests/data/greedy.json.
#pragma once

#include "engine/gguf/gguf_file.h"
#include "engine/model/model.h"
#include "kernels/backend.h"
#include "tests/kernels/step_driver.h"
#include "tests/support/test_data.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>
#include <memory>
#include <string>

namespace tokenscope::kernels::test {

struct RealModel {
    GgufFile file;
    std::unique_ptr<GgufMapping> mapping;
    LayerProgram program;
};

inline RealModel openModel(const std::filesystem::path& path)
{
    RealModel model;
    model.file = GgufFile::open(path).value();
    model.mapping = model.file.map().value();
    model.program = buildLayerProgram(model.file, *model.mapping).value();
    return model;
}

struct Comparison {
    int logits = 0;
    double sum = 0.0;  // of absolute differences
    double largest = 0.0;
    int flips = 0;  // another best token although the stored two best are more than 0.5 apart
};

// Feeds the ids of the file at every step, so that one flipped near-tie does not spoil the rest. The prompts take turns
// as sequences of one cache.
inline Comparison compareWithGreedy(DeviceModel& device, const LayerProgram& program, const std::string& name,
                                    int prompts, int steps, CacheType cacheType)
{
    const auto all = nlohmann::json::parse(tokenscope::test::readFile(tokenscope::test::dataPath("greedy.json")));
    StepDriver driver(device, program.vocabulary, {64, cacheType});
    Comparison result;
    for (int prompt = 0; prompt < prompts; ++prompt) {
        const auto& entry = all.at(name).at(static_cast<std::size_t>(prompt));
        std::vector<std::int32_t> next = entry.at("ids").get<std::vector<std::int32_t>>();
        int step = 0;
        for (const auto& expected : entry.at("steps")) {
            if (step++ == steps)
                break;
            const Logits rows = driver.run({{prompt, next, true, true}});
            const std::vector<float>& logits = rows.back();
            const auto& top = expected.at("top");
            for (const auto& pair : top) {
                const double difference =
                    std::abs(double{logits.at(pair.at(0).get<std::size_t>())} - pair.at(1).get<double>());
                result.sum += difference;
                result.largest = std::max(result.largest, difference);
                ++result.logits;
            }
            const auto best = static_cast<int>(std::max_element(logits.begin(), logits.end()) - logits.begin());
            const double margin = top.at(0).at(1).get<double>() - top.at(1).at(1).get<double>();
            if (best != expected.at("id").get<int>() && margin > 0.5)
                ++result.flips;
            next = {expected.at("id").get<std::int32_t>()};
        }
    }
    return result;
}

// The tolerances of 8-bit activations: mean 0.25, largest 1.2, no flip where the two best are more than 0.5 apart.
inline void expectWithinEightBitTolerance(const Comparison& comparison)
{
    const double mean = comparison.sum / std::max(comparison.logits, 1);
    EXPECT_GT(comparison.logits, 0);
    EXPECT_LE(mean, 0.25);
    EXPECT_LE(comparison.largest, 1.2);
    EXPECT_EQ(comparison.flips, 0);
    testing::Test::RecordProperty("mean", std::to_string(mean));
    testing::Test::RecordProperty("largest", std::to_string(comparison.largest));
}

}  // namespace tokenscope::kernels::test
