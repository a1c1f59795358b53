// Standard streams and interrupts of the command line. Results go to stdout, everything else to stderr; progress only
// where stderr is a terminal.
#pragma once

#include "engine/base/result.h"

#include <atomic>
#include <string>
#include <string_view>

namespace tokenscope::cli {

enum ExitCode { kDone = 0, kFailed = 1, kBadUse = 2, kInterrupted = 130 };
ExitCode exitCodeFor(ErrorCode code);

// Before anything is opened: where a standard stream was closed, the next file would take its number, and what was
// meant for the terminal would be written into it.
void openStandardStreams();

// Ctrl-C (and a request to end, and a terminal that closes) sets a flag that every wait looks at; the second one ends
// the process at once, with the same exit code. A closed pipe is an error of the next write, not a signal.
void catchInterrupts();
bool interrupted();
const std::atomic<bool>& interruptFlag();
void forgetInterrupt();  // the conversation goes on after an answer was stopped

// To stdout, flushed; false once it cannot be written any more.
bool writeOut(std::string_view text);
void writeError(std::string_view line);  // "tokenscope-cli: …" to stderr
void writeNote(std::string_view line);   // as it is to stderr; nobody may be reading there, which fails nothing

// One line that is written over: "Loading model 42 %". Nothing without a terminal or when quiet.
class Progress {
public:
    explicit Progress(bool quiet);
    ~Progress() { clear(); }
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    void show(std::string_view text);
    void clear();

private:
    const bool m_isShown;
    std::string m_last;
};

}  // namespace tokenscope::cli
