// The JSON forms that command line, database and exports share (cli.md): `run --json`, configuration, environment.
#pragma once

#include "app/services/machine_service.h"
#include "engine/types/events.h"
#include "engine/types/metrics.h"
#include "storage/records.h"

#include <nlohmann/json_fwd.hpp>

namespace tokenscope {

nlohmann::json configDocument(const Settings& settings, const LoadedModelInfo& model);  // every setting, effective
nlohmann::json environmentDocument(const LoadedModelInfo& model);
nlohmann::json metricsDocument(const RequestMetrics& metrics, double loadMs);  // absent values are null
nlohmann::json traceDocument(const RequestTrace& trace);                       // raw events, ns

// The whole document of `run --json`; `runId` 0 = not saved.
nlohmann::json runDocument(const RequestFinished& finished, const LoadedModelInfo& model, const Settings& settings,
                           const RequestMetrics& metrics, RunId runId);
nlohmann::json runDocument(const RunRow& row);  // the same from the database, with raw events

RunRow makeRunRow(std::string kind, const RequestFinished& finished, const LoadedModelInfo& model,
                  const Settings& settings, const RequestMetrics& metrics, std::int64_t startedMs);

// One line; bytes that are no UTF-8 are replaced.
std::string storedText(const nlohmann::json& document);

}  // namespace tokenscope
