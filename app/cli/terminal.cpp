#include "app/cli/terminal.h"

#include <csignal>
#include <cstdio>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace tokenscope::cli {
namespace {

std::atomic<bool> g_interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "set by a signal handler");

void onInterrupt(int)
{
    if (g_interrupted.exchange(true))
        ::_exit(kInterrupted);
}

}  // namespace

ExitCode exitCodeFor(ErrorCode code)
{
    switch (code) {
    case ErrorCode::BadFile:
    case ErrorCode::UnsupportedModel:
    case ErrorCode::FileAccess:
    case ErrorCode::BadSetting:
    case ErrorCode::BadInput:
    case ErrorCode::TemplateFailed:
    case ErrorCode::ContextFull:
        return kBadUse;
    case ErrorCode::Cancelled:
        return kInterrupted;
    default:
        return kFailed;
    }
}

void openStandardStreams()
{
    // open() takes the lowest free number, so the holes fill in order. The wrong direction on purpose: reading from a
    // closed input and writing to a closed output stay errors.
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        if (::fcntl(stream, F_GETFD) < 0)
            ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

void catchInterrupts()
{
    struct sigaction action{};
    action.sa_handler = &onInterrupt;  // without SA_RESTART: a read from the terminal ends too
    sigemptyset(&action.sa_mask);
    ::sigaction(SIGINT, &action, nullptr);
    ::sigaction(SIGTERM, &action, nullptr);
    struct sigaction hangup{};
    ::sigaction(SIGHUP, nullptr, &hangup);
    if (hangup.sa_handler != SIG_IGN)  // nohup
        ::sigaction(SIGHUP, &action, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
    ::signal(SIGXFSZ, SIG_IGN);
}

bool interrupted()
{
    return g_interrupted;
}

const std::atomic<bool>& interruptFlag()
{
    return g_interrupted;
}

void forgetInterrupt()
{
    g_interrupted = false;
}

bool writeOut(std::string_view text)
{
    std::fwrite(text.data(), 1, text.size(), stdout);
    return std::fflush(stdout) == 0 && !std::ferror(stdout);
}

void writeError(std::string_view line)
{
    const std::string text = fmt::format("tokenscope-cli: {}\n", line);
    std::fwrite(text.data(), 1, text.size(), stderr);
}

void writeNote(std::string_view line)
{
    const std::string text = fmt::format("{}\n", line);
    std::fwrite(text.data(), 1, text.size(), stderr);
}

Progress::Progress(bool quiet) : m_isShown(!quiet && ::isatty(STDERR_FILENO) == 1) {}

void Progress::show(std::string_view text)
{
    if (!m_isShown || text == m_last)
        return;
    m_last = text;
    std::fputs(fmt::format("\r\033[K{}", text).c_str(), stderr);  // back to the margin, clear the line
    std::fflush(stderr);
}

void Progress::clear()
{
    if (m_last.empty())
        return;
    m_last.clear();
    std::fputs("\r\033[K", stderr);
    std::fflush(stderr);
}

}  // namespace tokenscope::cli
