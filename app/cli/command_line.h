// What every command shares: its options, and how it reports. Each command registers itself with a function that is
// called when it was chosen and gives the exit code.
#pragma once

#include "app/cli/terminal.h"
#include "engine/base/result.h"
#include "engine/types/settings.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace CLI {
class App;
}

namespace tokenscope::cli {

struct CommonOptions {
    std::string model;
    Settings settings;
    std::filesystem::path dataDirectory;
    bool json = false;
    bool quiet = false;
    bool save = true;
};

using Action = std::function<Result<int>(const CommonOptions&)>;

class CommandLine {
public:
    CommandLine();
    ~CommandLine();

    enum Options : unsigned {
        kNotes = 32,           // --quiet --log
        kOutput = 1 | kNotes,  // and --json
        kData = 2,             // --data-dir
        kModel = 4,            // MODEL
        kEngine = 8,           // the settings of the engine and of sampling
        kSaving = 16,          // --save --no-save
    };
    CLI::App& add(std::string name, std::string description, unsigned options, Action action);
    // A command with commands of its own.
    CLI::App& addGroup(std::string name, std::string description);
    CLI::App& add(CLI::App& group, std::string name, std::string description, unsigned options, Action action);
    // Of cli.md, but not of this build: refused by name.
    void addAbsent(const std::vector<std::string>& names);
    void addAbsent(CLI::App& group, const std::vector<std::string>& names);
    static void addAbsentOptions(CLI::App& command, const std::vector<std::string>& names);

    int run(int argc, char** argv);

private:
    void addSettings(CLI::App& command);
    Result<void> applySettings();
    int report(const Error& error, bool json);

    CommonOptions m_common;
    std::string m_dataDirectory;
    std::string m_logLevel = "warn";
    std::vector<std::pair<std::string, std::string>> m_given;  // settings in the order of the command line
    std::unique_ptr<CLI::App> m_app;
    std::vector<std::pair<CLI::App*, Action>> m_actions;
};

// The document and a line end. False: stdout is closed.
bool printJson(const nlohmann::json& document);
Error outputFailed();

Result<std::string> readTextFile(const std::filesystem::path& path);  // "-" is standard input; at most 64 MiB

}  // namespace tokenscope::cli
