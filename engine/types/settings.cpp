#include "engine/types/settings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include <fmt/format.h>

namespace tokenscope {
namespace {

using enum SettingKind;

constexpr double kMaxContext = 1 << 20;
constexpr double kMaxBudget = 1e15;

struct Row {
    SettingInfo info;
    std::function<void(Settings&, double)> setNumber;          // Integer and Number
    std::function<void(Settings&, std::string_view)> setText;  // Choice (checked), Text, Switch ("on"/"off")
    std::function<std::string(const Settings&)> get;
};

template <typename E, std::size_t N>
E choiceOf(std::string_view value, const std::array<std::pair<std::string_view, E>, N>& names)
{
    for (const auto& [name, choice] : names)
        if (name == value)
            return choice;
    return names[0].second;
}

template <typename E, std::size_t N>
std::string nameOf(E value, const std::array<std::pair<std::string_view, E>, N>& names)
{
    for (const auto& [name, choice] : names)
        if (choice == value)
            return std::string(name);
    return {};
}

constexpr std::array<std::pair<std::string_view, Device>, 3> kDevices{
    {{"auto", Device::Auto}, {"cpu", Device::Cpu}, {"reference", Device::Reference}}};
constexpr std::array<std::pair<std::string_view, IsaChoice>, 5> kIsas{{{"auto", IsaChoice::Auto},
                                                                       {"scalar", IsaChoice::Scalar},
                                                                       {"avx2", IsaChoice::Avx2},
                                                                       {"avx512", IsaChoice::Avx512},
                                                                       {"neon", IsaChoice::Neon}}};
constexpr std::array<std::pair<std::string_view, KvFormat>, 2> kKvFormats{
    {{"f16", KvFormat::F16}, {"f32", KvFormat::F32}}};

std::string zeroIsAuto(std::int64_t value)
{
    return value == 0 ? "auto" : std::to_string(value);
}

Row integer(SettingInfo info, int EngineSettings::* member)
{
    info.kind = Integer;
    return {std::move(info),
            [member](Settings& s, double v) { s.engine.*member = static_cast<int>(v); },
            {},
            [member](const Settings& s) { return zeroIsAuto(s.engine.*member); }};
}

Row integer(SettingInfo info, int SamplingSettings::* member)
{
    info.kind = Integer;
    return {std::move(info),
            [member](Settings& s, double v) { s.sampling.*member = static_cast<int>(v); },
            {},
            [member](const Settings& s) { return std::to_string(s.sampling.*member); }};
}

Row number(SettingInfo info, double SamplingSettings::* member)
{
    info.kind = Number;
    return {std::move(info),
            [member](Settings& s, double v) { s.sampling.*member = v; },
            {},
            [member](const Settings& s) { return fmt::format("{}", s.sampling.*member); }};
}

Row text(SettingInfo info, std::string EngineSettings::* member)
{
    info.kind = Text;
    return {std::move(info),
            {},
            [member](Settings& s, std::string_view v) { s.engine.*member = std::string(v); },
            [member](const Settings& s) { return s.engine.*member; }};
}

const std::vector<Row>& rows()
{
    static const std::vector<Row> table = [] {
        std::vector<Row> made;
        made.push_back(
            {{.key = "device",
              .label = "Device",
              .kind = Choice,
              .choices = {"auto", "cpu", "reference"},
              .defaultValue = "auto",
              .needsReload = true,
              .affects = "What computes the model. The reference is exact and slow: the oracle for the others."},
             {},
             [](Settings& s, std::string_view v) { s.engine.device = choiceOf(v, kDevices); },
             [](const Settings& s) { return nameOf(s.engine.device, kDevices); }});
        made.push_back(
            {{.key = "isa",
              .label = "Instruction set",
              .kind = Choice,
              .choices = {"auto", "scalar", "avx2", "avx512", "neon"},
              .defaultValue = "auto",
              .needsReload = true,
              .affects = "Which vector instructions the CPU kernels use. Wider is faster; results may differ in the "
                         "last bits between sets."},
             {},
             [](Settings& s, std::string_view v) { s.engine.isa = choiceOf(v, kIsas); },
             [](const Settings& s) { return nameOf(s.engine.isa, kIsas); }});
        made.push_back(integer(
            {.key = "threads",
             .label = "Threads",
             .minimum = 1,
             .maximum = 1024,
             .unit = "threads",
             .defaultValue = "auto",
             .needsReload = true,
             .affects = "Cores that compute. More than the physical cores is slower; tokens do not depend on it."},
            &EngineSettings::threads));
        made.push_back(
            integer({.key = "context",
                     .label = "Context",
                     .minimum = 32,
                     .maximum = kMaxContext,
                     .unit = "tokens",
                     .defaultValue = "auto",
                     .needsReload = true,
                     .affects = "Tokens a conversation may hold, prompt and answer together. Costs cache memory."},
                    &EngineSettings::context));
        made.push_back(
            {{.key = "kv",
              .label = "KV cache format",
              .kind = Choice,
              .choices = {"f16", "f32"},
              .defaultValue = "f16",
              .needsReload = true,
              .affects = "Precision of keys and values. f16 rounds them to 11 bits and halves memory and reading; "
                         "logits move by about 0.01."},
             {},
             [](Settings& s, std::string_view v) { s.engine.kv = choiceOf(v, kKvFormats); },
             [](const Settings& s) { return nameOf(s.engine.kv, kKvFormats); }});
        made.push_back(integer({.key = "batch",
                                .label = "Batch limit",
                                .minimum = 1,
                                .maximum = 64,
                                .unit = "sequences",
                                .defaultValue = "1",
                                .needsReload = true,
                                .affects = "Answers computed in the same steps. Each has a cache of its own."},
                               &EngineSettings::batch));
        made.push_back(
            {{.key = "kv_budget",
              .label = "KV cache budget",
              .kind = Integer,
              .minimum = 0,
              .maximum = kMaxBudget,
              .unit = "bytes",
              .defaultValue = "auto",
              .needsReload = true,
              .affects = "Memory for the cache instead of context × batch."},
             [](Settings& s, double v) { s.engine.kvBudgetBytes = static_cast<std::uint64_t>(v); },
             {},
             [](const Settings& s) { return zeroIsAuto(static_cast<std::int64_t>(s.engine.kvBudgetBytes)); }});
        made.push_back(
            {{.key = "prefill_chunk",
              .label = "Prefill chunk",
              .kind = Integer,
              .minimum = 1,
              .maximum = kMaxContext,
              .unit = "tokens",
              .choices = {"whole"},
              .defaultValue = "auto",
              .needsReload = true,
              .affects =
                  "Prompt tokens computed in one step. Larger is quicker for the prompt, slower to react for others "
                  "and to a stop. Automatic: from the measured cost of a step."},
             [](Settings& s, double v) { s.engine.prefillChunk = static_cast<int>(v); },
             [](Settings& s, std::string_view) { s.engine.prefillChunk = kWholePrompt; },
             [](const Settings& s) {
                 return s.engine.prefillChunk == kWholePrompt ? "whole" : zeroIsAuto(s.engine.prefillChunk);
             }});
        made.push_back(text(
            {.key = "pretokenizer",
             .label = "Pre-tokenizer",
             .defaultValue = "",
             .needsReload = true,
             .affects = "Splits text before merging, instead of one this program does not know. A wrong one makes the "
                        "model worse without an error."},
            &EngineSettings::pretokenizer));
        made.push_back(text({.key = "template",
                             .label = "Chat template",
                             .defaultValue = "",
                             .needsReload = true,
                             .affects = "A file with a Jinja template instead of the model's own, or raw for none."},
                            &EngineSettings::templateOverride));

        made.push_back(number({.key = "temp",
                               .label = "Temperature",
                               .minimum = 0,
                               .maximum = 5,
                               .defaultValue = "0.8",
                               .affects = "How evenly the next token is drawn: 0 always takes the likeliest."},
                              &SamplingSettings::temperature));
        made.push_back(integer({.key = "top_k",
                                .label = "Top-k",
                                .minimum = 0,
                                .maximum = 1'000'000,
                                .unit = "tokens",
                                .defaultValue = "40",
                                .affects = "Draws among the k likeliest tokens only; 0 is off."},
                               &SamplingSettings::topK));
        made.push_back(
            number({.key = "top_p",
                    .label = "Top-p",
                    .minimum = 0,
                    .maximum = 1,
                    .defaultValue = "0.95",
                    .affects = "Draws among the likeliest tokens that together have this probability; 1 is off."},
                   &SamplingSettings::topP));
        made.push_back(number({.key = "min_p",
                               .label = "Min-p",
                               .minimum = 0,
                               .maximum = 1,
                               .defaultValue = "0.05",
                               .affects = "Leaves out tokens less likely than this share of the likeliest; 0 is off."},
                              &SamplingSettings::minP));
        made.push_back(number({.key = "repeat_penalty",
                               .label = "Repeat penalty",
                               .minimum = 0.1,
                               .maximum = 10,
                               .defaultValue = "1",
                               .affects = "Divides the logits of tokens already seen; 1 is off."},
                              &SamplingSettings::repeatPenalty));
        made.push_back(number({.key = "frequency_penalty",
                               .label = "Frequency penalty",
                               .minimum = -10,
                               .maximum = 10,
                               .defaultValue = "0",
                               .affects = "Lowers a token's logit by this for every time it was seen; 0 is off."},
                              &SamplingSettings::frequencyPenalty));
        made.push_back(number({.key = "presence_penalty",
                               .label = "Presence penalty",
                               .minimum = -10,
                               .maximum = 10,
                               .defaultValue = "0",
                               .affects = "Lowers a token's logit by this once it was seen; 0 is off."},
                              &SamplingSettings::presencePenalty));
        made.push_back(
            {{.key = "seed",
              .label = "Seed",
              .kind = Text,
              .defaultValue = "random",
              .affects =
                  "The same seed and settings give the same tokens, whatever else runs. Random: drawn and recorded."},
             {},
             {},
             [](const Settings& s) { return s.sampling.seed ? std::to_string(*s.sampling.seed) : "random"; }});
        made.push_back(
            {{.key = "stop",
              .label = "Stop text",
              .kind = Text,
              .defaultValue = "",
              .affects = "The answer ends before this text; it may straddle tokens. Given several times, any of them."},
             {},
             [](Settings& s, std::string_view v) {
                 if (v.empty())
                     s.sampling.stop.clear();
                 else
                     s.sampling.stop.emplace_back(v);
             },
             [](const Settings& s) {
                 std::string joined;
                 for (const std::string& stop : s.sampling.stop)
                     joined += (joined.empty() ? "" : "\n") + stop;
                 return joined;
             }});
        made.push_back({{.key = "ignore_eos",
                         .label = "Ignore end of text",
                         .kind = Switch,
                         .defaultValue = "off",
                         .affects = "Goes on after the model's end-of-text token, for answers of equal length."},
                        {},
                        [](Settings& s, std::string_view v) { s.sampling.ignoreEos = v == "on"; },
                        [](const Settings& s) { return std::string(s.sampling.ignoreEos ? "on" : "off"); }});
        made.push_back(integer({.key = "max_tokens",
                                .label = "Answer limit",
                                .minimum = 1,
                                .maximum = kMaxContext,
                                .unit = "tokens",
                                .defaultValue = "512",
                                .affects = "The answer stops after this many tokens."},
                               &SamplingSettings::maxTokens));
        return made;
    }();
    return table;
}

// Settings of cli.md that later builds bring, with the one value this build behaves as.
constexpr std::array<std::pair<std::string_view, std::string_view>, 15> kAbsent{{{"weights", "file"},
                                                                                 {"kv_layout", "paged"},
                                                                                 {"kv_cache", "on"},
                                                                                 {"kv_policy", "stop"},
                                                                                 {"attention", "flash"},
                                                                                 {"batching", "continuous"},
                                                                                 {"prefix_cache", "off"},
                                                                                 {"speculate", "off"},
                                                                                 {"draft_max", ""},
                                                                                 {"semantic_cache", "off"},
                                                                                 {"zero_freed", "off"},
                                                                                 {"priority", "0"},
                                                                                 {"logit_bias", ""},
                                                                                 {"max_input", ""},
                                                                                 {"deadline", ""}}};

std::string normalised(std::string_view key)
{
    std::string result(key);
    std::replace(result.begin(), result.end(), '-', '_');
    return result;
}

template <typename T>
std::optional<T> parsed(std::string_view text)
{
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return value;
}

tl::unexpected<Error> badSetting(std::string message, std::vector<std::string> args)
{
    return tl::unexpected<Error>(Error{ErrorCode::BadSetting, std::move(message), std::move(args)});
}

tl::unexpected<Error> outOfRange(const SettingInfo& info, std::string_view value)
{
    std::string allowed = fmt::format("{} to {}", info.minimum, info.maximum);
    if (info.defaultValue == "auto")
        allowed += " or auto";
    for (std::string_view choice : info.choices)
        allowed += fmt::format(" or {}", choice);
    return badSetting(fmt::format("{}={}: expected {}{}{}", info.key, value,
                                  info.kind == Integer ? "a whole number from " : "a number from ", allowed,
                                  info.unit.empty() ? "" : fmt::format(" ({})", info.unit)),
                      {std::string(info.key), std::string(value)});
}

Result<void> setNumeric(Settings& settings, const Row& row, std::string_view value)
{
    const SettingInfo& info = row.info;
    if (info.defaultValue == "auto" && value == "auto") {
        row.setNumber(settings, 0.0);
        return {};
    }
    if (std::find(info.choices.begin(), info.choices.end(), value) != info.choices.end()) {
        row.setText(settings, value);
        return {};
    }
    const std::optional<double> number = parsed<double>(value);
    if (!number || !std::isfinite(*number) || *number < info.minimum || *number > info.maximum ||
        (info.kind == Integer && *number != std::floor(*number)))
        return outOfRange(info, value);
    row.setNumber(settings, *number);
    return {};
}

}  // namespace

const std::vector<SettingInfo>& settingTable()
{
    static const std::vector<SettingInfo> table = [] {
        std::vector<SettingInfo> infos;
        for (const Row& row : rows())
            infos.push_back(row.info);
        return infos;
    }();
    return table;
}

bool isKnownButAbsent(std::string_view key)
{
    const std::string name = normalised(key);
    return std::any_of(kAbsent.begin(), kAbsent.end(), [&](const auto& absent) { return absent.first == name; });
}

Result<void> setSetting(Settings& settings, std::string_view key, std::string_view value)
{
    const std::string name = normalised(key);
    for (const auto& [absent, effective] : kAbsent)
        if (absent == name) {
            if (!effective.empty() && value == effective)
                return {};
            return badSetting(fmt::format("{}={}: not available in this build{}", name, value,
                                          effective.empty() ? "" : fmt::format(" (it has {} only)", effective)),
                              {name, std::string(value)});
        }
    for (const Row& row : rows()) {
        const SettingInfo& info = row.info;
        if (info.key != name)
            continue;
        if (name == "seed") {
            const std::optional<std::uint64_t> seed = parsed<std::uint64_t>(value);
            if (!seed && value != "random")
                return badSetting(fmt::format("seed={}: expected random or a whole number from 0 to {}", value,
                                              std::numeric_limits<std::uint64_t>::max()),
                                  {name, std::string(value)});
            settings.sampling.seed = seed;
            return {};
        }
        switch (info.kind) {
        case Integer:
        case Number:
            return setNumeric(settings, row, value);
        case Switch:
            if (value != "on" && value != "off")
                return badSetting(fmt::format("{}={}: expected on or off", name, value), {name, std::string(value)});
            break;
        case Choice:
            if (std::find(info.choices.begin(), info.choices.end(), value) == info.choices.end())
                return badSetting(fmt::format("{}={}: expected one of {}", name, value, fmt::join(info.choices, ", ")),
                                  {name, std::string(value)});
            break;
        case Text:
            break;
        }
        row.setText(settings, value);
        return {};
    }
    return badSetting(fmt::format("{}={}: no such setting", name, value), {name, std::string(value)});
}

std::string settingValue(const Settings& settings, std::string_view key)
{
    const std::string name = normalised(key);
    for (const Row& row : rows())
        if (row.info.key == name)
            return row.get(settings);
    for (const auto& [absent, effective] : kAbsent)
        if (absent == name)
            return std::string(effective);
    return {};
}

}  // namespace tokenscope
