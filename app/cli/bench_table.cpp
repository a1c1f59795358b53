#include "app/cli/bench_table.h"

#include <cmath>
#include <ctime>
#include <numeric>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tokenscope::cli {
namespace {

double meanOf(const std::vector<double>& values)
{
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Of a sample: N − 1.
double deviationOf(const std::vector<double>& values)
{
    if (values.size() < 2)
        return 0.0;
    const double mean = meanOf(values);
    double sum = 0.0;
    for (double value : values)
        sum += (value - mean) * (value - mean);
    return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

std::string countText(std::uint64_t count)
{
    constexpr double kMillion = 1e6;
    constexpr double kBillion = 1e9;
    const auto value = static_cast<double>(count);
    return value >= kBillion ? fmt::format("{:.2f} B", value / kBillion) : fmt::format("{:.2f} M", value / kMillion);
}

std::string modelType(const ModelInfo& model)
{
    return fmt::format("{} {} {}", model.architecture, countText(model.parameters), model.mainType);
}

std::string testName(const BenchTest& test)
{
    std::string name =
        test.promptTokens > 0 ? fmt::format("pp{}", test.promptTokens) : fmt::format("tg{}", test.outputTokens);
    if (test.depth > 0)
        name += fmt::format(" @ d{}", test.depth);
    return name;
}

}  // namespace

std::vector<double> BenchRow::tokensPerSecond() const
{
    std::vector<double> speeds;
    const int tokens = test.promptTokens + test.outputTokens;
    for (double ns : samplesNs)
        speeds.push_back(tokens * 1e9 / ns);
    return speeds;
}

nlohmann::json benchDocument(const BenchSubject& subject, const BenchRow& row)
{
    const std::string cache = subject.kv == KvFormat::F32 ? "f32" : "f16";
    const auto speeds = row.tokensPerSecond();
    return {{"build_commit", TOKENSCOPE_VERSION},
            {"build_number", 0},
            {"cpu_info", subject.machine.cpu},
            {"gpu_info", ""},
            {"backends", fmt::format("{} {}", subject.model.device, subject.model.isa)},
            {"model_filename", subject.model.model.path},
            {"model_type", modelType(subject.model.model)},
            {"model_size", subject.model.model.fileBytes},
            {"model_n_params", subject.model.model.parameters},
            {"n_batch", row.largestChunk},
            {"n_ubatch", row.largestChunk},
            {"n_threads", subject.model.threads},
            {"cpu_mask", "0x0"},
            {"cpu_strict", false},
            {"poll", 0},
            {"type_k", cache},
            {"type_v", cache},
            {"n_gpu_layers", 0},
            {"split_mode", "none"},
            {"main_gpu", 0},
            {"no_kv_offload", true},
            {"flash_attn", true},
            {"tensor_split", "0.00"},
            {"tensor_buft_overrides", "none"},
            {"use_mmap", true},
            {"embeddings", false},
            {"n_prompt", row.test.promptTokens},
            {"n_gen", row.test.outputTokens},
            {"n_depth", row.test.depth},
            {"test_time",
             fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(row.startedMs / 1000)))},
            {"avg_ns", std::llround(meanOf(row.samplesNs))},
            {"stddev_ns", std::llround(deviationOf(row.samplesNs))},
            {"avg_ts", meanOf(speeds)},
            {"stddev_ts", deviationOf(speeds)},
            {"samples_ns", row.samplesNs},
            {"samples_ts", speeds}};
}

std::string benchMarkdown(const BenchSubject& subject, const std::vector<BenchRow>& rows)
{
    constexpr double kMebi = 1024.0 * 1024.0;
    std::string text = "| model                          |       size |     params | backend    | threads |            "
                       "test |                  t/s |\n"
                       "| ------------------------------ | ---------: | ---------: | ---------- | ------: | "
                       "--------------: | -------------------: |\n";
    for (const BenchRow& row : rows) {
        const auto speeds = row.tokensPerSecond();
        text += fmt::format("| {:<30} | {:>10} | {:>10} | {:<10} | {:>7} | {:>15} | {:>20} |\n",
                            modelType(subject.model.model),
                            fmt::format("{:.2f} MiB", static_cast<double>(subject.model.model.fileBytes) / kMebi),
                            countText(subject.model.model.parameters),
                            fmt::format("{} {}", subject.model.device, subject.model.isa), subject.model.threads,
                            testName(row.test), fmt::format("{:.2f} ± {:.2f}", meanOf(speeds), deviationOf(speeds)));
    }
    return text + "\nbuild: tokenscope " TOKENSCOPE_VERSION "\n";
}

std::vector<nlohmann::json> stepDocuments(const StepTables& tables)
{
    std::vector<nlohmann::json> documents;
    for (const StepRow& row : tables.rows)
        documents.push_back({{"n_rows", row.rows}, {"n_depth", row.depth}, {"step_ms", row.stepMs}});
    for (const SequencesRow& row : tables.sequences) {
        const int prompt = row.sequences * row.promptTokens;
        const int output = row.sequences * row.outputTokens;
        const double seconds = row.promptSeconds + row.outputSeconds;
        documents.push_back({{"pp", row.promptTokens},
                             {"tg", row.outputTokens},
                             {"pl", row.sequences},
                             {"n_kv", prompt + output},
                             {"t_pp", row.promptSeconds},
                             {"speed_pp", prompt / row.promptSeconds},
                             {"t_tg", row.outputSeconds},
                             {"speed_tg", output / row.outputSeconds},
                             {"t", seconds},
                             {"speed", (prompt + output) / seconds}});
    }
    return documents;
}

std::string stepMarkdown(const StepTables& tables)
{
    std::string text;
    if (!tables.rows.empty())
        text += "|   rows |  depth |  step ms |\n| -----: | -----: | -------: |\n";
    for (const StepRow& row : tables.rows)
        text += fmt::format("| {:>6} | {:>6} | {:>8.3f} |\n", row.rows, row.depth, row.stepMs);
    // llama-batched-bench's heads.
    if (!tables.sequences.empty())
        text +=
            "|    PP |     TG |    B |   N_KV |   T_PP s | S_PP t/s |   T_TG s | S_TG t/s |      T s |    S t/s |\n"
            "|-------|--------|------|--------|----------|----------|----------|----------|----------|----------|\n";
    for (const SequencesRow& row : tables.sequences) {
        const int prompt = row.sequences * row.promptTokens;
        const int output = row.sequences * row.outputTokens;
        const double seconds = row.promptSeconds + row.outputSeconds;
        text +=
            fmt::format("|{:6} | {:6} | {:4} | {:6} | {:8.3f} | {:8.2f} | {:8.3f} | {:8.2f} | {:8.3f} | {:8.2f} |\n",
                        row.promptTokens, row.outputTokens, row.sequences, prompt + output, row.promptSeconds,
                        prompt / row.promptSeconds, row.outputSeconds, output / row.outputSeconds, seconds,
                        (prompt + output) / seconds);
    }
    return text;
}

std::string benchCsv(const std::vector<nlohmann::json>& documents)
{
    std::string text;
    for (const auto& document : documents) {
        std::string header;
        std::string line;
        for (const auto& [key, value] : document.items()) {
            if (value.is_array())  // llama-bench's CSV has no samples either
                continue;
            header += (header.empty() ? "" : ",") + key;
            std::string field = value.is_string() ? value.get<std::string>() : value.dump();
            std::string escaped;
            for (char c : field)
                escaped += c == '"' ? std::string("\"\"") : std::string(1, c);
            line += (line.empty() ? "\"" : ",\"") + escaped + "\"";
        }
        text += (text.empty() ? header + "\n" : "") + line + "\n";
    }
    return text;
}

}  // namespace tokenscope::cli
