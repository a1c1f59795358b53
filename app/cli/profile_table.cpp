// The forms of `bench --profile`.
#include "app/cli/bench_table.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tokenscope::cli {
namespace {

using nlohmann::json;

json orNull(const std::optional<double>& value)
{
    return value ? json(*value) : json(nullptr);
}

json stageDocument(const StageRow& stage)
{
    return {{"name", stage.name},
            {"ms", stage.ms},
            {"bytes", stage.bytes},
            {"macs", stage.macs},
            {"share_of_bandwidth", orNull(stage.shareOfBandwidth)},
            {"share_of_compute", orNull(stage.shareOfCompute)}};
}

json stepDocument(const StepProfileRow& step)
{
    json stages = json::array();
    for (const StageRow& stage : step.stages)
        stages.push_back(stageDocument(stage));
    return {{"stages", std::move(stages)}, {"step_ms", step.stepMs}, {"n_rows", step.rows}, {"n_depth", step.depth}};
}

std::string percent(const std::optional<double>& share)
{
    return share ? fmt::format("{:.1f} %", 100.0 * *share) : std::string("–");
}

std::string stepMarkdown(const StepProfileRow& step)
{
    constexpr double kMega = 1e6;
    std::string text = "| stage            |       ms |  of step |       MB |     MMAC | bandwidth |  compute |\n"
                       "| ---------------- | -------: | -------: | -------: | -------: | --------: | -------: |\n";
    double staged = 0.0;
    for (const StageRow& stage : step.stages) {
        staged += stage.ms;
        text += fmt::format("| {:<16} | {:>8.3f} | {:>8} | {:>8.2f} | {:>8.1f} | {:>9} | {:>8} |\n", stage.name,
                            stage.ms, percent(stage.ms / step.stepMs), static_cast<double>(stage.bytes) / kMega,
                            static_cast<double>(stage.macs) / kMega, percent(stage.shareOfBandwidth),
                            percent(stage.shareOfCompute));
    }
    text += fmt::format("| {:<16} | {:>8.3f} | {:>8} | {:>8} | {:>8} | {:>9} | {:>8} |\n", "outside stages",
                        step.stepMs - staged, percent((step.stepMs - staged) / step.stepMs), "", "", "", "");
    return text;
}

}  // namespace

json profileDocument(const ProfileTables& tables)
{
    json document = stepDocument(tables.decode);
    if (tables.prompt)
        document["prompt"] = stepDocument(*tables.prompt);
    if (tables.ceilings) {
        document["read_bandwidth_bytes_per_s"] = tables.ceilings->readBytesPerSecond;
        document["int8_macs_per_s"] = tables.ceilings->int8MacsPerSecond;
        document["f32_macs_per_s"] = tables.ceilings->f32MacsPerSecond;
    }
    return document;
}

std::vector<json> profileLines(const ProfileTables& tables)
{
    std::vector<json> lines;
    const auto add = [&](const StepProfileRow& step) {
        for (const StageRow& stage : step.stages) {
            json line = stageDocument(stage);
            line["step_ms"] = step.stepMs;
            line["n_rows"] = step.rows;
            line["n_depth"] = step.depth;
            lines.push_back(std::move(line));
        }
    };
    add(tables.decode);
    if (tables.prompt)
        add(*tables.prompt);
    return lines;
}

std::string profileMarkdown(const ProfileTables& tables)
{
    constexpr double kGiga = 1e9;
    std::string text =
        fmt::format("Decode step behind {} tokens: {:.3f} ms\n\n", tables.decode.depth, tables.decode.stepMs) +
        stepMarkdown(tables.decode);
    if (tables.prompt)
        text += fmt::format("\nPrompt step of {} rows behind {} tokens: {:.3f} ms\n\n", tables.prompt->rows,
                            tables.prompt->depth, tables.prompt->stepMs) +
                stepMarkdown(*tables.prompt);
    if (tables.ceilings)
        text += fmt::format(
            "\nShares are of {:.1f} GB/s and, in attention, {:.1f}, elsewhere {:.1f} G multiply-adds/s "
            "(tokenscope-cli system).\n",
            tables.ceilings->readBytesPerSecond / kGiga, tables.ceilings->f32MacsPerSecond / kGiga,
            (tables.ceilings->computesInt8 ? tables.ceilings->int8MacsPerSecond : tables.ceilings->f32MacsPerSecond) /
                kGiga);
    return text;
}

}  // namespace tokenscope::cli
