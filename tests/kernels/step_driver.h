// Runs sequences on a device model as an engine would: hands out cache blocks (scattered, so that a wrong block table
// shows), makes step plans, collects the logits of every row.
#pragma once

#include "kernels/backend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace tokenscope::kernels::test {

using Logits = std::vector<std::vector<float>>;  // of each row asked for

struct Part {
    int sequence = 0;
    std::vector<std::int32_t> tokens;
    bool wantLogits = true;
    bool lastOnly = false;  // of the last row instead of all
};

class StepDriver {
public:
    StepDriver(DeviceModel& device, int vocabulary, CacheSpec cache, std::uint32_t seed = 1)
        : m_device(device), m_vocabulary(vocabulary)
    {
        const auto reserved = device.reserveCache(cache);
        EXPECT_TRUE(reserved.has_value()) << (reserved ? "" : reserved.error().message);
        for (int block = 0; block < cache.blockCount; ++block)
            m_free.push_back(block);
        std::shuffle(m_free.begin(), m_free.end(), std::mt19937(seed));
    }

    StepPlan plan(const std::vector<Part>& parts)
    {
        StepPlan plan;
        for (const Part& part : parts) {
            Sequence& sequence = m_sequences[part.sequence];
            const int rows = static_cast<int>(part.tokens.size());
            while (static_cast<int>(sequence.blocks.size()) * kBlockTokens < sequence.length + rows) {
                EXPECT_FALSE(m_free.empty());
                sequence.blocks.push_back(m_free.back());
                m_free.pop_back();
            }
            plan.sequences.push_back({plan.rows(), rows, sequence.length, static_cast<int>(plan.blockTable.size()),
                                      static_cast<int>(sequence.blocks.size())});
            for (int row = 0; row < rows; ++row)
                if (part.wantLogits && (!part.lastOnly || row == rows - 1))
                    plan.logitRows.push_back(plan.rows() + row);
            plan.tokens.insert(plan.tokens.end(), part.tokens.begin(), part.tokens.end());
            plan.blockTable.insert(plan.blockTable.end(), sequence.blocks.begin(), sequence.blocks.end());
            sequence.length += rows;
        }
        return plan;
    }

    Logits run(const std::vector<Part>& parts)
    {
        const StepPlan stepPlan = plan(parts);
        const auto result = m_device.runStep(stepPlan, nullptr);
        EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().message);
        Logits logits;
        if (result)
            for (std::size_t i = 0; i < stepPlan.logitRows.size(); ++i) {
                const float* row = result->logits.data() + i * static_cast<std::size_t>(m_vocabulary);
                logits.emplace_back(row, row + m_vocabulary);
            }
        if (result) {
            EXPECT_EQ(std::vector<float>(result->chunkMaxima.begin(), result->chunkMaxima.end()), maximaOf(logits));
        }
        return logits;
    }

private:
    static std::vector<float> maximaOf(const Logits& rows)
    {
        std::vector<float> maxima;
        for (const std::vector<float>& row : rows)
            for (std::size_t begin = 0; begin < row.size(); begin += kLogitChunk)
                maxima.push_back(
                    *std::max_element(row.data() + begin, row.data() + std::min(row.size(), begin + kLogitChunk)));
        return maxima;
    }

    struct Sequence {
        std::vector<std::int32_t> blocks;
        int length = 0;
    };

    DeviceModel& m_device;
    int m_vocabulary;
    std::vector<std::int32_t> m_free;
    std::map<int, Sequence> m_sequences;
};

inline std::vector<std::int32_t> randomTokens(int count, int vocabulary, std::uint32_t seed)
{
    std::mt19937 random(seed);
    std::vector<std::int32_t> tokens;
    for (int i = 0; i < count; ++i)
        tokens.push_back(static_cast<std::int32_t>(random() % static_cast<unsigned>(vocabulary)));
    return tokens;
}

inline float largestDifference(const Logits& a, const Logits& b)
{
    EXPECT_EQ(a.size(), b.size());
    float largest = 0.0f;
    for (std::size_t row = 0; row < std::min(a.size(), b.size()); ++row)
        for (std::size_t i = 0; i < a[row].size(); ++i) {
            const float difference = std::abs(a[row][i] - b[row][i]);
            largest = difference > largest || difference != difference ? difference : largest;
        }
    return largest;
}

}  // namespace tokenscope::kernels::test
