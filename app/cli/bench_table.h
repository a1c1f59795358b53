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

nlohmann::json benchDocument(const BenchSubject& subject, const BenchRow& row);
std::string benchMarkdown(const BenchSubject& subject, const std::vector<BenchRow>& rows);
std::string benchCsv(const std::vector<nlohmann::json>& documents);

}  // namespace tokenscope::cli
