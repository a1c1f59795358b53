#include "app/cli/step_bench_command.h"

#include "app/services/step_bench.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace tokenscope::cli {
namespace {

constexpr int kMostSequences = 64;       // of a step, as the setting `batch`
constexpr int kStepsOfARepetition = 16;  // of --rows: one step alone would be a clock tick's luck
constexpr int kLeastContext = 32;

Result<void> checkCounts(const char* option, const std::vector<int>& counts)
{
    for (int count : counts)
        if (count < 1 || count > kMostSequences)
            return fail(ErrorCode::BadSetting, "{} {}: expected 1 to {}", option, count, kMostSequences);
    return {};
}

double medianOf(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2.0;
}

class StepBenchRun {
public:
    StepBenchRun(const CommonOptions& options, const StepBenchOptions& wanted) : m_options(options), m_wanted(wanted) {}

    Result<StepBenchResult> run()
    {
        if (auto possible = check(); !possible)
            return tl::unexpected(possible.error());
        EngineSettings engine = m_options.settings.engine;
        engine.batch = mostSequences();
        const int needed = std::max(kLeastContext, mostTokens());
        if (engine.context == 0)
            engine.context = needed;
        if (engine.context < needed)
            return fail(ErrorCode::BadSetting,
                        "--context {}: the longest sequence to measure has {} tokens; give at least that "
                        "or leave it out",
                        engine.context, needed);
        if (auto loaded = load(engine); !loaded)
            return tl::unexpected(loaded.error());
        StepBenchResult result{m_bench->info(), engine, {}};
        for (int depth : m_wanted.depth) {
            for (int rows : m_wanted.rows) {
                auto row = stepOf(rows, depth);
                if (!row)
                    return tl::unexpected(row.error());
                result.tables.rows.push_back(*row);
            }
        }
        for (int prompt : m_wanted.sequences.empty() ? std::vector<int>() : m_wanted.prompt) {
            for (int output : m_wanted.output) {
                for (int sequences : m_wanted.sequences) {
                    auto row = batchOf(sequences, prompt, output);
                    if (!row)
                        return tl::unexpected(row.error());
                    result.tables.sequences.push_back(*row);
                }
            }
        }
        return result;
    }

private:
    Result<void> check() const
    {
        if (auto good = checkCounts("--sequences", m_wanted.sequences); !good)
            return good;
        if (auto good = checkCounts("--rows", m_wanted.rows); !good)
            return good;
        if (m_wanted.sequences.empty())
            return {};
        const auto least = [](const std::vector<int>& values) {
            return *std::min_element(values.begin(), values.end());
        };
        if (least(m_wanted.prompt) < 1 || least(m_wanted.output) < 1)
            return fail(ErrorCode::BadSetting, "--sequences needs -p and -n of at least 1 token");
        if (*std::max_element(m_wanted.depth.begin(), m_wanted.depth.end()) > 0)
            return fail(ErrorCode::BadSetting, "--sequences takes no -d: its prompts of -p tokens are the depth");
        return {};
    }

    int mostSequences() const
    {
        const auto& counts = m_wanted.sequences.empty() ? m_wanted.rows : m_wanted.sequences;
        return *std::max_element(counts.begin(), counts.end());
    }

    int mostTokens() const
    {
        const auto most = [](const std::vector<int>& values) {
            return *std::max_element(values.begin(), values.end());
        };
        return m_wanted.sequences.empty() ? most(m_wanted.depth) + 1 : most(m_wanted.prompt) + most(m_wanted.output);
    }

    Result<void> load(const EngineSettings& engine)
    {
        Progress progress(m_options.quiet);
        auto bench = StepBench::load(m_options.model, engine,
                                     {interruptFlag(), [&](double fraction) {
                                          progress.show(fmt::format("Loading model {:.0f} %", fraction * 100));
                                      }});
        progress.clear();
        if (!bench)
            return tl::unexpected(std::move(bench.error()));
        m_bench.emplace(std::move(*bench));
        if (!m_options.quiet) {
            for (const std::string& warning : m_bench->info().warnings)
                writeError("note: " + warning);
        }
        return {};
    }

    void showRepetition(Progress& progress, int repetition) const
    {
        progress.show(repetition < 0 ? std::string("Warming up")
                                     : fmt::format("Repetition {} of {}", repetition + 1, m_wanted.repetitions));
    }

    // A repetition is several steps at the same depth; they write the same place in the cache.
    Result<StepRow> stepOf(int rows, int depth)
    {
        Progress progress(m_options.quiet);
        if (depth > 0) {
            progress.show("Filling the cache");
            if (const auto filled = m_bench->readPrompts(rows, depth); !filled)
                return tl::unexpected(filled.error());
        }
        StepRow row{.rows = rows, .depth = depth};
        std::vector<double> times;
        for (int repetition = -1; repetition < m_wanted.repetitions; ++repetition) {  // the first is not counted
            showRepetition(progress, repetition);
            for (int step = 0; step < kStepsOfARepetition; ++step) {
                const auto ns = m_bench->decodeStep(rows, depth);
                if (!ns)
                    return tl::unexpected(ns.error());
                if (repetition >= 0)
                    times.push_back(static_cast<double>(*ns) / 1e6);
            }
        }
        row.stepMs = medianOf(std::move(times));
        return row;
    }

    Result<SequencesRow> batchOf(int sequences, int prompt, int output)
    {
        Progress progress(m_options.quiet);
        std::vector<double> promptTimes;
        std::vector<double> outputTimes;
        if (const auto warm = m_bench->decodeStep(sequences, 0); !warm)
            return tl::unexpected(warm.error());
        for (int repetition = 0; repetition < m_wanted.repetitions; ++repetition) {
            showRepetition(progress, repetition);
            const auto read = m_bench->readPrompts(sequences, prompt);
            if (!read)
                return tl::unexpected(read.error());
            Nanoseconds generated = 0;
            for (int step = 0; step < output; ++step) {
                const auto ns = m_bench->decodeStep(sequences, prompt + step);
                if (!ns)
                    return tl::unexpected(ns.error());
                generated += *ns;
            }
            promptTimes.push_back(static_cast<double>(*read) / 1e9);
            outputTimes.push_back(static_cast<double>(generated) / 1e9);
        }
        return SequencesRow{.promptTokens = prompt,
                            .outputTokens = output,
                            .sequences = sequences,
                            .promptSeconds = medianOf(std::move(promptTimes)),
                            .outputSeconds = medianOf(std::move(outputTimes))};
    }

    const CommonOptions& m_options;
    const StepBenchOptions& m_wanted;
    std::optional<StepBench> m_bench;
};

}  // namespace

Result<StepBenchResult> benchSteps(const CommonOptions& options, const StepBenchOptions& wanted)
{
    return StepBenchRun(options, wanted).run();
}

}  // namespace tokenscope::cli
