// Runs in SQL; texts and ids of tokens in a table of their own. Whoever calls a writing function brings the
// transaction.
#pragma once

#include "storage/database.h"
#include "storage/records.h"

#include <optional>
#include <string_view>
#include <vector>

namespace tokenscope {

Result<std::vector<RunRow>> readRuns(const Connection& connection, int limit);
Result<RunRow> readRun(const Connection& connection, RunId id);
Result<RunId> readLastRun(const Connection& connection);

// Gives the number of the new run; `answer` is the message it belongs to.
Result<RunId> writeRun(const Connection& connection, const RunRow& row, std::optional<MessageId> answer);
Result<void> writeRunHash(const Connection& connection, RunId id, std::string_view sha256);
Result<void> writeRunMetrics(const Connection& connection, RunId id, std::string_view metricsJson);
Result<void> eraseRunTexts(const Connection& connection, RunId id);

}  // namespace tokenscope
