// The forms of `bench`: llama-bench's field names, so that its comparison scripts read them, and its Markdown table.
#pragma once

#include "app/services/machine_service.h"
#include "engine/types/model_info.h"
#include "engine/types/settings.h"

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

// One of the two is empty.
struct StepTables {
    std::vector<StepRow> rows;
    std::vector<SequencesRow> sequences;
};
std::vector<nlohmann::json> stepDocuments(const StepTables& tables);
std::string stepMarkdown(const StepTables& tables);

nlohmann::json benchDocument(const BenchSubject& subject, const BenchRow& row);
std::string benchMarkdown(const BenchSubject& subject, const std::vector<BenchRow>& rows);
std::string benchCsv(const std::vector<nlohmann::json>& documents);

}  // namespace tokenscope::cli
