// One engine of the command line: loads a model with progress on the terminal, asks it, stops at an interrupt. And what
// belongs to a run besides: ceilings, hash, database.
#pragma once

#include "app/cli/command_line.h"
#include "engine/engine.h"
#include "engine/measure/metrics.h"
#include "storage/storage.h"

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace tokenscope::cli {

class EngineSession {
public:
    explicit EngineSession(const CommonOptions& options);
    ~EngineSession();

    Result<void> load(const EngineSettings& settings);  // options.model

    EnginePort& port() { return *m_engine; }
    const LoadedModelInfo& model() const { return m_model; }
    LoadedModelInfo& model() { return m_model; }

    // All at once; the answers in the same order. `onToken` false: give up as after an interrupt. After an interrupt
    // the answers are what was reached (Cancelled).
    std::vector<RequestFinished> answer(std::vector<RequestSpec> requests,
                                        const std::function<bool(const TokenCommitted&)>& onToken = {});

    // After the answer: measured now where they are not stored (about a second), nothing after an interrupt.
    std::optional<MeasuredCeilings> ceilings();
    void addHash();  // to model(); reads the file where the hash is not stored

private:
    const CommonOptions& m_options;
    std::unique_ptr<EnginePort> m_engine;
    EngineSettings m_settings;
    LoadedModelInfo m_model;
};

// The number of the run, 0 where saving is off or not possible (which a note on stderr says; it fails nothing).
RunId saveRun(const CommonOptions& options, RunRow row);

// Opened for reading what is stored: an error where there is no usable database.
Result<std::unique_ptr<Storage>> openStorage(const CommonOptions& options);

}  // namespace tokenscope::cli
