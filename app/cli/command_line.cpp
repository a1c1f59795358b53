#include "app/cli/command_line.h"

#include "app/services/paths.h"
#include "engine/base/log.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <limits>

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
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kAbsentValues{
    {{"device", "cuda"}, {"kv", "q8_0"}, {"kv", "q4_0"}}};

Result<void> apply(Settings& settings, const std::string& key, const std::string& value)
{
    const std::string option = dashed(key);
    // In the table an empty value empties the list; here it is one more text, and every answer holds it.
    if (key == "stop" && value.empty())
        return fail(ErrorCode::BadSetting, "--stop: an empty text would stop every answer; leave the option out");
    const bool isAbsentValue =
        std::find(kAbsentValues.begin(), kAbsentValues.end(),
                  std::pair<std::string_view, std::string_view>(key, value)) != kAbsentValues.end();
    auto done = setSetting(settings, key, value);
    if (done)
        return {};
    if (isKnownButAbsent(key) || isAbsentValue)
        return fail(ErrorCode::BadSetting, "--{} {}: not available in this build", option, value);
    return done;
}

// Settings and engine write "threads=0: expected …"; here it was an option.
std::string inWordsOfOptions(const std::string& message)
{
    const auto equals = message.find('=');
    const auto colon = message.find(": ");
    if (equals == std::string::npos || colon == std::string::npos || colon < equals)
        return message;
    const std::string key = message.substr(0, equals);
    const auto& table = settingTable();
    if (std::none_of(table.begin(), table.end(), [&](const SettingInfo& info) { return info.key == key; }))
        return message;
    return fmt::format("--{} {}", dashed(key), message.substr(equals + 1));
}

// The innermost command that was chosen.
const CLI::App& chosenCommand(const CLI::App& app)
{
    const CLI::App* chosen = &app;
    while (!chosen->get_subcommands().empty())
        chosen = chosen->get_subcommands().front();
    return *chosen;
}

// What CLI11 could not place, or could not read as a number: its own sentences say neither where nor what was expected.
std::string complaint(const CLI::App& app, const CLI::Error& error, const std::string& command)
{
    const std::vector<std::string> unknown = app.remaining(true);
    const CLI::App& chosen = chosenCommand(app);
    if (!unknown.empty()) {
        const std::string& first = unknown.front();
        if (first.starts_with('-'))
            return fmt::format("{}: {} has no such option", first, command);
        if (!chosen.get_subcommands([](const CLI::App*) { return true; }).empty())
            return fmt::format("{}: {} has no such command", first, command);
        return fmt::format("{}: one argument too many for {}", first, command);
    }
    std::string told = error.what();
    constexpr std::string_view kConversion = "Could not convert: ";
    const auto equals = told.find(" = ");
    if (told.starts_with(kConversion) && equals != std::string::npos) {
        const std::string name = told.substr(kConversion.size(), equals - kConversion.size());
        const CLI::Option* option = chosen.get_option_no_throw(name);
        if (option && option->get_expected_min() == 0)
            return fmt::format("{}: is a switch and takes no value", name);
        return fmt::format("{} {}: expected a whole number of at most {}", name, told.substr(equals + 3),
                           std::numeric_limits<int>::max());
    }
    if (told == "A subcommand is required")
        return fmt::format("{} needs a command", command);
    return told;
}

std::string inOurWords(const CLI::App& app, const CLI::Error& error)
{
    const std::string told = error.what();
    if (told.find("not available") != std::string::npos)
        return told;
    const CLI::App& chosen = chosenCommand(app);
    const CLI::App* group = chosen.get_parent();
    std::string command = chosen.get_name();
    if (group && group != &app)
        command = fmt::format("{} {}", group->get_name(), command);
    const std::string called = &chosen == &app ? command : fmt::format("{} {}", app.get_name(), command);
    return fmt::format("{}; see {} --help", complaint(app, error, command), called);
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
            return fail(ErrorCode::BadSetting, "{}: not available in this build", full);
        });
    }
}

Result<void> CommandLine::applySettings()
{
    for (const auto& [key, value] : m_given) {
        if (auto done = apply(m_common.settings, key, value); !done)
            return done;
    }
    // Not every command uses the template, but a file that is not there is never ignored.
    const std::string& source = m_common.settings.engine.templateOverride;
    if (!source.empty() && source != "raw") {
        if (auto text = readTextFile(source); !text)
            return fail(text.error().code, "--template {}", text.error().message);
    }
    const std::array<std::pair<std::string_view, LogLevel>, 5> levels{{{"debug", LogLevel::Debug},
                                                                       {"info", LogLevel::Info},
                                                                       {"warn", LogLevel::Warn},
                                                                       {"error", LogLevel::Error},
                                                                       {"off", LogLevel::Off}}};
    const auto level =
        std::find_if(levels.begin(), levels.end(), [&](const auto& known) { return known.first == m_logLevel; });
    if (level == levels.end())
        return fail(ErrorCode::BadSetting, "--log {}: expected debug, info, warn, error or off", m_logLevel);
    setLogLevel(level->second);
    m_common.dataDirectory = m_dataDirectory.empty() ? defaultDataDirectory() : std::filesystem::path(m_dataDirectory);
    return {};
}

int CommandLine::report(const Error& error, bool json)
{
    const std::string message = error.code == ErrorCode::BadSetting ? inWordsOfOptions(error.message) : error.message;
    writeError(message);
    if (json)
        printJson({{"error", {{"code", errorCodeName(error.code)}, {"message", message}, {"detail", error.args}}}});
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
        return report({ErrorCode::BadSetting, inOurWords(*m_app, error), {}}, wantsJson);
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
            return fail(ErrorCode::FileAccess, "{}: is a folder, not a file", path.string());
        file.open(path, std::ios::binary);
        if (!file)
            return fail(ErrorCode::FileAccess, "{}: cannot be read: {}", path.string(), std::strerror(errno));
    }
    std::istream& stream = path == "-" ? std::cin : file;
    std::string text;
    std::array<char, 65536> buffer;
    while (stream.read(buffer.data(), buffer.size()) || stream.gcount() > 0) {
        text.append(buffer.data(), static_cast<std::size_t>(stream.gcount()));
        if (text.size() > kMostBytes)
            return fail(ErrorCode::BadInput, "{}: has more than {} bytes", path.string(), kMostBytes);
    }
    return text;
}

}  // namespace tokenscope::cli
