#include "app/cli/step_bench_command.h"

#include "app/services/paths.h"
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
        if (m_wanted.profile) {
            auto profile = profileOf(engine);
            if (!profile)
                return tl::unexpected(profile.error());
            result.tables.profile = std::move(*profile);
            return result;
        }
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
        if (m_wanted.profile && (m_wanted.prompt.size() != 1 || m_wanted.depth.size() != 1))
            return fail(ErrorCode::BadSetting, "--profile: give one -p and one -d");
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
        if (m_wanted.profile)
            return 1;
        const auto& counts = m_wanted.sequences.empty() ? m_wanted.rows : m_wanted.sequences;
        return *std::max_element(counts.begin(), counts.end());
    }

    int mostTokens() const
    {
        const auto most = [](const std::vector<int>& values) {
            return *std::max_element(values.begin(), values.end());
        };
        if (m_wanted.profile)
            return m_wanted.depth.front() + std::max(1, m_wanted.prompt.front());
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

    Result<ProfileTables> profileOf(const EngineSettings& engine)
    {
        const int depth = m_wanted.depth.front();
        const int promptRows = m_wanted.prompt.front();
        ProfileTables tables;
        auto decode = profileSteps(1, depth, kStepsOfARepetition);
        if (!decode)
            return tl::unexpected(decode.error());
        tables.decode = std::move(*decode);
        if (promptRows > 0) {
            auto prompt = profileSteps(promptRows, depth, 1);
            if (!prompt)
                return tl::unexpected(prompt.error());
            tables.prompt = std::move(*prompt);
        }
        const auto device = resolveDevice(engine);
        if (!device)
            return tl::unexpected(device.error());
        tables.ceilings = storedCeilings(cacheDirectory(), *device);
        if (!tables.ceilings) {
            Progress progress(m_options.quiet);
            progress.show("Measuring this machine's ceilings (once)");
            auto measured = measureAndStoreCeilings(cacheDirectory(), *device);
            if (!measured)
                return tl::unexpected(measured.error());
            tables.ceilings = *measured;
        }
        const std::string& type = m_bench->info().model.mainType;
        tables.ceilings->computesInt8 = type != "F32" && type != "F16" && type != "BF16";
        addShares(tables.decode, *tables.ceilings);
        if (tables.prompt)
            addShares(*tables.prompt, *tables.ceilings);
        return tables;
    }

    // The mean of the middle half of the steps by their whole time: stages still add up, and an interruption of one
    // step changes nothing.
    Result<StepProfileRow> profileSteps(int rows, int depth, int stepsEach)
    {
        Progress progress(m_options.quiet);
        if (depth > 0) {
            progress.show("Filling the cache");
            if (const auto filled = m_bench->readPrompts(1, depth); !filled)
                return tl::unexpected(filled.error());
        }
        std::vector<ProfiledStep> steps;
        for (int repetition = -1; repetition < m_wanted.repetitions; ++repetition) {  // the first is not counted
            showRepetition(progress, repetition);
            for (int step = 0; step < stepsEach; ++step) {
                const auto profiled = m_bench->profileStep(rows, depth);
                if (!profiled)
                    return tl::unexpected(profiled.error());
                if (repetition >= 0)
                    steps.push_back(*profiled);
            }
        }
        std::sort(steps.begin(), steps.end(), [](const ProfiledStep& a, const ProfiledStep& b) { return a.ns < b.ns; });
        const std::size_t begin = steps.size() / 4;
        const std::size_t end = steps.size() - begin;
        const double each = 1.0 / (static_cast<double>(end - begin) * 1e6);  // ns of all → ms of one

        StepProfileRow row{.rows = rows, .depth = depth};
        const StageCosts costs = m_bench->costsOf(rows, depth);
        for (std::size_t stage = 0; stage < kernels::kStageCount; ++stage) {
            StageRow& into = row.stages.emplace_back();
            into.name = kernels::kStageNames[stage];
            into.bytes = costs[stage].weightBytes + costs[stage].kvReadBytes + costs[stage].kvWriteBytes;
            into.macs = costs[stage].macs;
            for (std::size_t step = begin; step < end; ++step)
                into.ms += static_cast<double>(steps[step].stageNs[stage]) * each;
        }
        for (std::size_t step = begin; step < end; ++step)
            row.stepMs += static_cast<double>(steps[step].ns) * each;
        return row;
    }

    // Attention multiplies in f32, the matrices in what their format says.
    static void addShares(StepProfileRow& row, const MeasuredCeilings& ceilings)
    {
        for (std::size_t i = 0; i < row.stages.size(); ++i) {
            StageRow& stage = row.stages[i];
            const bool isFloat = !ceilings.computesInt8 || static_cast<kernels::Stage>(i) == kernels::Stage::Attention;
            const double macsPerSecond = isFloat ? ceilings.f32MacsPerSecond : ceilings.int8MacsPerSecond;
            const double seconds = stage.ms / 1e3;
            if (seconds <= 0.0)
                continue;
            if (stage.bytes > 0)
                stage.shareOfBandwidth = static_cast<double>(stage.bytes) / seconds / ceilings.readBytesPerSecond;
            if (stage.macs > 0)
                stage.shareOfCompute = static_cast<double>(stage.macs) / seconds / macsPerSecond;
        }
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
