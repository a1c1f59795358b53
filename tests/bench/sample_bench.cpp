// Microseconds a token of sampling takes at a vocabulary of 262,144, on one thread: 32 rows that differ, so that the
// next one is not in the nearest cache; flat and peaked distributions, since top-p keeps most of the former.
//
//   sample_bench [REPETITIONS]
#include "engine/sample/sampler.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

namespace tokenscope {
namespace {

constexpr std::size_t kVocabulary = 262'144;
constexpr std::size_t kRows = 32;

struct Case {
    const char* name;
    double temperature;
    int topK;
    double topP, minP, repeatPenalty;
};
constexpr Case kCases[] = {
    {"greedy", 0.0, 0, 1.0, 0.0, 1.0},
    {"top-k 40, top-p 0.95, min-p 0.05", 0.8, 40, 0.95, 0.05, 1.0},
    {"top-k 64", 1.0, 64, 1.0, 0.0, 1.0},
    {"top-p 0.95", 1.0, 0, 0.95, 0.0, 1.0},
    {"top-p 0.5", 1.0, 0, 0.5, 0.0, 1.0},
    {"min-p 0.05", 1.0, 0, 1.0, 0.05, 1.0},
    {"all", 1.0, 0, 1.0, 0.0, 1.0},
    {"greedy, repeat penalty", 0.0, 0, 1.0, 0.0, 1.1},
    {"all, repeat penalty", 1.0, 0, 1.0, 0.0, 1.1},
};

void measure(float spread, int repetitions)
{
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0.0f, spread);
    std::vector<std::vector<float>> rows(kRows, std::vector<float>(kVocabulary));
    for (auto& row : rows)
        std::generate(row.begin(), row.end(), [&] { return normal(random); });
    std::vector<TokenId> history;
    for (int i = 0; i < 200; ++i)
        history.push_back(i * 37);

    std::printf("normal logits of deviation %.0f\n", static_cast<double>(spread));
    Sampler sampler;
    for (const Case& c : kCases) {
        SamplingSettings settings;
        settings.temperature = c.temperature;
        settings.topK = c.topK;
        settings.topP = c.topP;
        settings.minP = c.minP;
        settings.repeatPenalty = c.repeatPenalty;
        std::vector<double> times;
        for (int i = 0; i < repetitions; ++i) {
            const auto start = std::chrono::steady_clock::now();
            for (const auto& row : rows)
                if (!sampler.sample(row, settings, history, {1, 0, static_cast<std::uint32_t>(i)}))
                    std::exit(1);
            const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
            times.push_back(took.count() / kRows);
        }
        std::sort(times.begin(), times.end());
        std::printf("  %-34s %8.0f us (%.0f to %.0f)\n", c.name, times[times.size() / 2], times.front(), times.back());
    }
}

}  // namespace
}  // namespace tokenscope

int main(int argc, char** argv)
{
    const int repetitions = argc > 1 ? std::max(1, std::atoi(argv[1])) : 9;
    for (const float spread : {1.0f, 4.0f})
        tokenscope::measure(spread, repetitions);
    return 0;
}
