#include "app/cli/command_line.h"

#include "app/services/paths.h"
#include "engine/base/log.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tokenscope::cli {
namespace {

std::string dashed(std::string_view key)
{
    std::string text(key);
    std::replace(text.begin(), text.end(), '_', '-');
    return text;
}

// Both spellings are read.
std::string optionNames(std::string_view key)
{
    const std::string option = dashed(key);
    return option == key ? "--" + option : fmt::format("--{},--{}", option, key);
}

// Names of the command line that the table of settings does not have, in the order of cli.md.
constexpr std::array<std::string_view, 15> kAbsentKeys{
    "weights",   "kv_layout",      "kv_cache",   "kv_policy", "attention",  "batching",  "prefix_cache", "speculate",
    "draft_max", "semantic_cache", "zero_freed", "priority",  "logit_bias", "max_input", "deadline"};

// Values of later builds for settings this one has.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kAbsentValues{
    {{"device", "cuda"}, {"isa", "neon"}, {"kv", "q8_0"}, {"kv", "q4_0"}}};

Result<void> apply(Settings& settings, const std::string& key, const std::string& value)
{
    const std::string option = dashed(key);
    const bool isAbsentValue =
        std::find(kAbsentValues.begin(), kAbsentValues.end(),
                  std::pair<std::string_view, std::string_view>(key, value)) != kAbsentValues.end();
    auto done = setSetting(settings, key, value);
    if (done)
        return {};
    if (isKnownButAbsent(key) || isAbsentValue)
        return fail(ErrorCode::BadSetting, fmt::format("--{} {}: not available in this build", option, value));
    // The table writes "threads=0: expected …"; here it was an option.
    const std::string prefix = fmt::format("{}={}: ", key, value);
    std::string message = done.error().message;
    if (message.starts_with(prefix))
        message = fmt::format("--{} {}: {}", option, value, message.substr(prefix.size()));
    return tl::unexpected(Error{done.error().code, std::move(message), done.error().args});
}

bool hasFlag(int argc, char** argv, const char* flag)
{
    return std::any_of(argv, argv + argc, [flag](const char* argument) { return std::strcmp(argument, flag) == 0; });
}

}  // namespace

CommandLine::CommandLine()
    : m_app(std::make_unique<CLI::App>("Tokenscope runs a language model and shows where every "
                                       "millisecond goes.",
                                       "tokenscope-cli"))
{
    m_app->set_version_flag("--version", "tokenscope-cli " TOKENSCOPE_VERSION);
    m_app->require_subcommand(1);
    m_app->failure_message([](const CLI::App*, const CLI::Error& error) { return std::string(error.what()); });
}

CommandLine::~CommandLine() = default;

CLI::App& CommandLine::add(std::string name, std::string description, unsigned options, Action action)
{
    return add(*m_app, std::move(name), std::move(description), options, std::move(action));
}

CLI::App& CommandLine::addGroup(std::string name, std::string description)
{
    CLI::App* group = m_app->add_subcommand(std::move(name), std::move(description));
    group->require_subcommand(1);
    return *group;
}

CLI::App& CommandLine::add(CLI::App& group, std::string name, std::string description, unsigned options, Action action)
{
    CLI::App* command = group.add_subcommand(std::move(name), std::move(description));
    if (options & kModel)
        command->add_option("MODEL", m_common.model, "a GGUF file; of a split model its first part")->required();
    if ((options & kOutput) == kOutput)
        command->add_flag("--json", m_common.json, "one JSON document on standard output");
    if (options & kNotes) {
        command->add_flag("--quiet", m_common.quiet, "no progress and no notes on standard error");
        command->add_option("--log", m_logLevel, "debug, info, warn, error or off");
    }
    if (options & kData)
        command->add_option("--data-dir", m_dataDirectory, "instead of " + defaultDataDirectory().string());
    if (options & kSaving)
        command->add_flag("--save,!--no-save", m_common.save, "keep the run in the database (on)");
    if (options & kEngine)
        addSettings(*command);
    m_actions.emplace_back(command, std::move(action));
    return *command;
}

void CommandLine::addSettings(CLI::App& command)
{
    const auto remember = [this](std::string key) {
        return [this, key = std::move(key)](const std::string& value) { m_given.emplace_back(key, value); };
    };
    for (const SettingInfo& info : settingTable()) {
        const std::string key(info.key);
        const std::string description = fmt::format("{} [{}]", info.affects, info.defaultValue);
        if (info.kind == SettingKind::Switch) {
            command.add_flag_callback(
                       optionNames(key), [this, key] { m_given.emplace_back(key, "on"); }, description)
                ->group("Settings");
        } else {
            command.add_option_function<std::string>(optionNames(key), remember(key), description)
                ->trigger_on_parse()
                ->type_name(info.kind == SettingKind::Text     ? "TEXT"
                            : info.kind == SettingKind::Choice ? "NAME"
                                                               : "N")
                ->group("Settings");
        }
    }
    for (std::string_view key : kAbsentKeys)
        command.add_option_function<std::string>(optionNames(key), remember(std::string(key)))
            ->trigger_on_parse()
            ->group("");
}

void CommandLine::addAbsentOptions(CLI::App& command, const std::vector<std::string>& names)
{
    for (const std::string& name : names)
        command
            .add_option_function<std::string>("--" + name,
                                              [name](const std::string&) {
                                                  throw CLI::ValidationError(
                                                      fmt::format("--{}: not available in this build", name), kBadUse);
                                              })
            ->expected(0, 1)
            ->trigger_on_parse()
            ->group("");
}

void CommandLine::addAbsent(const std::vector<std::string>& names)
{
    addAbsent(*m_app, names);
}

void CommandLine::addAbsent(CLI::App& group, const std::vector<std::string>& names)
{
    const std::string before = &group == m_app.get() ? "" : group.get_name() + " ";
    for (const std::string& name : names) {
        CLI::App* command = group.add_subcommand(name)->group("");
        command->prefix_command();
        m_actions.emplace_back(command, [full = before + name](const CommonOptions&) -> Result<int> {
            return fail(ErrorCode::BadSetting, fmt::format("{}: not available in this build", full));
        });
    }
}

Result<void> CommandLine::applySettings()
{
    for (const auto& [key, value] : m_given) {
        if (auto done = apply(m_common.settings, key, value); !done)
            return done;
    }
    const std::array<std::pair<std::string_view, LogLevel>, 5> levels{{{"debug", LogLevel::Debug},
                                                                       {"info", LogLevel::Info},
                                                                       {"warn", LogLevel::Warn},
                                                                       {"error", LogLevel::Error},
                                                                       {"off", LogLevel::Off}}};
    const auto level =
        std::find_if(levels.begin(), levels.end(), [&](const auto& known) { return known.first == m_logLevel; });
    if (level == levels.end())
        return fail(ErrorCode::BadSetting,
                    fmt::format("--log {}: expected debug, info, warn, error or off", m_logLevel));
    setLogLevel(level->second);
    m_common.dataDirectory = m_dataDirectory.empty() ? defaultDataDirectory() : std::filesystem::path(m_dataDirectory);
    return {};
}

int CommandLine::report(const Error& error, bool json)
{
    writeError(error.message);
    if (json)
        printJson(
            {{"error", {{"code", errorCodeName(error.code)}, {"message", error.message}, {"detail", error.args}}}});
    return exitCodeFor(error.code);
}

int CommandLine::run(int argc, char** argv)
{
    const bool wantsJson = hasFlag(argc, argv, "--json");
    try {
        m_app->parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        const CLI::App* chosen = m_app.get();
        while (!chosen->get_subcommands().empty())
            chosen = chosen->get_subcommands().front();
        return writeOut(chosen->help()) ? kDone : kFailed;
    } catch (const CLI::CallForVersion& version) {
        return writeOut(std::string(version.what()) + "\n") ? kDone : kFailed;
    } catch (const CLI::Error& error) {
        std::string message = error.what();
        if (message.find("not available") == std::string::npos)
            message += "; see --help";
        return report({ErrorCode::BadSetting, message, {}}, wantsJson);
    }
    if (auto done = applySettings(); !done)
        return report(done.error(), wantsJson);
    for (const auto& [command, action] : m_actions) {
        if (!command->parsed())
            continue;
        const auto code = action(m_common);
        return code ? *code : report(code.error(), wantsJson);
    }
    return report({ErrorCode::BadSetting, "no command was given; see --help", {}}, wantsJson);
}

bool printJson(const nlohmann::json& document)
{
    return writeOut(document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

Error outputFailed()
{
    return {ErrorCode::Internal, "standard output cannot be written any more (closed, or the disk is full)", {}};
}

Result<std::string> readTextFile(const std::filesystem::path& path)
{
    constexpr std::size_t kMostBytes = 64u << 20;
    std::ifstream file;
    if (path != "-") {
        std::error_code ignored;
        if (std::filesystem::is_directory(path, ignored))
            return fail(ErrorCode::FileAccess, fmt::format("{}: is a folder, not a file", path.string()));
        file.open(path, std::ios::binary);
        if (!file)
            return fail(ErrorCode::FileAccess,
                        fmt::format("{}: cannot be read: {}", path.string(), std::strerror(errno)));
    }
    std::istream& stream = path == "-" ? std::cin : file;
    std::string text;
    std::array<char, 65536> buffer;
    while (stream.read(buffer.data(), buffer.size()) || stream.gcount() > 0) {
        text.append(buffer.data(), static_cast<std::size_t>(stream.gcount()));
        if (text.size() > kMostBytes)
            return fail(ErrorCode::BadInput, fmt::format("{}: has more than {} bytes", path.string(), kMostBytes));
    }
    return text;
}

}  // namespace tokenscope::cli
