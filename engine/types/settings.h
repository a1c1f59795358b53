// Every setting this build can change, with the names of the command line, the window, files and the database.
#pragma once

#include "engine/base/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tokenscope {

enum class Device { Auto, Cpu, Reference };
enum class IsaChoice { Auto, Scalar, Avx2, Avx512, Neon };
enum class KvFormat { F16, F32 };

// What a loaded model is made with: a change needs a reload (threads and context too).
struct EngineSettings {
    Device device = Device::Auto;
    IsaChoice isa = IsaChoice::Auto;
    int threads = 0;  // 0 = physical cores
    int context =
        0;  // tokens a sequence may hold; 0 = the smallest of the model's training length, 4,096 and what fits
    KvFormat kv = KvFormat::F16;
    int batch = 1;                    // sequences computed in the same step, 1 … 64
    std::uint64_t kvBudgetBytes = 0;  // 0 = context × batch
    int prefillChunk = 0;             // rows of prompt in a step; 0 = chosen by measured cost; kWholePrompt = whole
    std::string pretokenizer;         // instead of one this program does not know; empty = the file's
    std::string templateOverride;     // "" = the file's own, "raw" = none, else a path
};
inline constexpr int kWholePrompt = -1;

// What one request is answered with.
struct SamplingSettings {
    double temperature = 0.8;  // 0 = greedy
    int topK = 40;             // 0 = off
    double topP = 0.95;        // 1 = off
    double minP = 0.05;        // 0 = off
    double repeatPenalty = 1.0;
    double frequencyPenalty = 0.0;
    double presencePenalty = 0.0;
    std::optional<std::uint64_t> seed;  // absent: drawn by the engine and recorded
    std::vector<std::string> stop;
    bool ignoreEos = false;
    int maxTokens = 512;
};

struct Settings {
    EngineSettings engine;
    SamplingSettings sampling;
};

enum class SettingKind { Integer, Number, Choice, Text, Switch };

// One row of the table that the command line, the settings panel and the stored configuration share.
struct SettingInfo {
    std::string_view key;    // "kv_layout" style; the command line also reads "kv-layout"
    std::string_view label;  // for people
    SettingKind kind = SettingKind::Text;
    double minimum = 0.0;  // Integer and Number
    double maximum = 0.0;
    std::string_view unit;                  // "tokens", "" = none
    std::vector<std::string_view> choices;  // Choice
    std::string_view defaultValue;
    bool needsReload = false;
    std::string_view affects;  // a sentence: what it changes and what it costs
};

const std::vector<SettingInfo>& settingTable();
// Known in cli.md's list but not in this build; refused by name.
bool isKnownButAbsent(std::string_view key);

// BadSetting with the range (or the choices) for an unknown key or a value out of range.
Result<void> setSetting(Settings& settings, std::string_view key, std::string_view value);
std::string settingValue(const Settings& settings, std::string_view key);

}  // namespace tokenscope
