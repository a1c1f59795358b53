// The log: one line to stderr an event, never a prompt or an answer. One .cpp knows spdlog (its header costs 5 s a
// file).
#pragma once

#include <string_view>

namespace tokenscope {

enum class LogLevel { Debug, Info, Warn, Error, Off };

void setLogLevel(LogLevel level);
void logDebug(std::string_view text);
void logInfo(std::string_view text);
void logWarn(std::string_view text);
void logError(std::string_view text);

}  // namespace tokenscope
