// The forms of `bench`: llama-bench's field names, so that its comparison scripts read them, and its Markdown table.
#pragma once

#include "app/services/machine_service.h"
#include "engine/types/model_info.h"
#include "engine/types/settings.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace tokenscope::cli {

struct BenchTest {
    int promptTokens = 0;  // of a prompt test, else 0
    int outputTokens = 0;  // of a generation test, else 0
    int depth = 0;         // tokens in the cache before
};

struct BenchRow {
    BenchTest test;
    std::int64_t startedMs = 0;
    int largestChunk = 0;           // prompt tokens computed in one step
    std::vector<double> samplesNs;  // one a repetition

    std::vector<double> tokensPerSecond() const;
};

struct BenchSubject {
    LoadedModelInfo model;
    MachineInfo machine;
    KvFormat kv = KvFormat::F16;
};

// A step with one row of each of `rows` sequences.
struct StepRow {
    int rows = 0;
    int depth = 0;        // tokens in the cache before, of each
    double stepMs = 0.0;  // median
};

// `sequences` prompts read, then answered together. llama-batched-bench's pp, tg and pl.
struct SequencesRow {
    int promptTokens = 0;
    int outputTokens = 0;
    int sequences = 0;
    double promptSeconds = 0.0;  // medians
    double outputSeconds = 0.0;
};

// Where a step's time goes. Shares are of the machine's measured ceilings, 1 = all of it; a model that fits into the
// last-level cache can read faster than the ceiling.
struct StageRow {
    std::string name;
    double ms = 0.0;
    std::uint64_t bytes = 0;  // weights and cache that must be read or written
    std::uint64_t macs = 0;
    std::optional<double> shareOfBandwidth;  // absent: no bytes, or no ceilings
    std::optional<double> shareOfCompute;
};
struct StepProfileRow {
    int rows = 0;
    int depth = 0;
    double stepMs = 0.0;
    std::vector<StageRow> stages;
};
struct ProfileTables {
    StepProfileRow decode;
    std::optional<StepProfileRow> prompt;
    std::optional<MeasuredCeilings> ceilings;
};
nlohmann::json profileDocument(const ProfileTables& tables);
std::vector<nlohmann::json> profileLines(const ProfileTables& tables);  // one a stage, for CSV and JSON Lines
std::string profileMarkdown(const ProfileTables& tables);

// One of the two is empty, or both and there is a profile.
struct StepTables {
    std::vector<StepRow> rows;
    std::vector<SequencesRow> sequences;
    std::optional<ProfileTables> profile;
};
std::vector<nlohmann::json> stepDocuments(const StepTables& tables);
std::string stepMarkdown(const StepTables& tables);

nlohmann::json benchDocument(const BenchSubject& subject, const BenchRow& row);
std::string benchMarkdown(const BenchSubject& subject, const std::vector<BenchRow>& rows);
std::string benchCsv(const std::vector<nlohmann::json>& documents);

}  // namespace tokenscope::cli
