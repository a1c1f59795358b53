#include "app/cli/command_line.h"
#include "app/cli/commands.h"
#include "app/cli/engine_session.h"
#include "app/services/chat_service.h"

#include <chrono>
#include <memory>
#include <optional>

#include <CLI/App.hpp>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

namespace tokenscope::cli {
namespace {

// Lines of standard input; a wait that an interrupt ends, which std::getline's is not.
class LineReader {
public:
    // nullopt: the end of the input, or an interrupt.
    std::optional<std::string> next()
    {
        for (;;) {
            const auto end = m_buffer.find('\n');
            if (end != std::string::npos || (m_atEnd && !m_buffer.empty())) {
                std::string line = m_buffer.substr(0, end);
                m_buffer.erase(0, end == std::string::npos ? end : end + 1);
                if (line.ends_with('\r'))
                    line.pop_back();
                return line;
            }
            if (m_atEnd || interrupted())
                return std::nullopt;
            pollfd input{STDIN_FILENO, POLLIN, 0};
            if (::poll(&input, 1, 200) <= 0)  // ms; an interrupt may come just before the wait
                continue;
            char bytes[4096];
            const auto count = ::read(STDIN_FILENO, bytes, sizeof bytes);
            if (count > 0)
                m_buffer.append(bytes, static_cast<std::size_t>(count));
            else if (count == 0 || errno != EINTR)
                m_atEnd = true;
        }
    }

private:
    std::string m_buffer;
    bool m_atEnd = false;
};

class Conversation {
public:
    Conversation(const CommonOptions& options, EngineSession& session, Storage& storage)
        : m_options(options), m_session(session), m_chat(session.port(), storage, systemClock())
    {
        m_chat.setSettings(options.settings);
        m_chat.setModel(session.model());
        m_chat.createConversation();
    }

    void setSystemPrompt(const std::string& text) { m_chat.setSystemPrompt(text); }

    // Streams the answer to stdout. An interrupt stops the answer, not the conversation.
    Result<void> ask(std::string text)
    {
        const auto answer = m_chat.send(std::move(text));
        if (!answer)
            return tl::unexpected(answer.error());
        Progress progress(m_options.quiet);
        std::size_t writtenBytes = 0;
        bool isStopped = false;
        while (m_chat.answering()) {
            m_session.port().waitForEvents(std::chrono::milliseconds(50));
            for (const Event& event : m_session.port().takeEvents()) {
                if (const auto* prefill = std::get_if<PrefillProgress>(&event))
                    progress.show(fmt::format("Reading prompt {} of {} tokens", prefill->done, prefill->total));
                m_chat.apply(event);
                const std::string& soFar = m_chat.node(*answer)->row.text;
                if (soFar.size() > writtenBytes) {
                    progress.clear();
                    if (!writeOut(std::string_view(soFar).substr(writtenBytes)))
                        return stopped();
                    writtenBytes = soFar.size();
                }
            }
            if (interrupted() && !std::exchange(isStopped, true))
                m_chat.stop();
        }
        forgetInterrupt();
        const ChatNode& node = *m_chat.node(*answer);
        if (!writeOut("\n"))
            return stopped();
        if (node.row.state == MessageState::Failed) {
            ++m_failures;
            writeError(node.row.errorText);
        }
        if (node.row.state != MessageState::Failed && node.metrics && !m_options.quiet)
            writeSummary(node);
        return {};
    }

    int failures() const { return m_failures; }  // answers that ended with an error

private:
    Result<void> stopped()
    {
        m_chat.stop();
        return tl::unexpected(outputFailed());
    }
    static void writeSummary(const ChatNode& node)
    {
        const RequestMetrics& metrics = *node.metrics;
        std::string text = fmt::format("[{} tokens", metrics.outputTokens);
        if (metrics.ttftMs)
            text += fmt::format(", TTFT {:.0f} ms", *metrics.ttftMs);
        if (metrics.tpotMs)
            text += fmt::format(", TPOT {:.1f} ms", *metrics.tpotMs);
        if (metrics.decodeTokensPerSecond)
            text += fmt::format(", {:.1f} tokens/s", *metrics.decodeTokensPerSecond);
        writeNote(
            fmt::format("{}, {}]", text, stopReasonName(node.trace ? node.trace->reason : StopReason::Cancelled)));
        for (const std::string& notice : node.notices)
            writeError("note: " + notice);
    }

    const CommonOptions& m_options;
    EngineSession& m_session;
    ChatService m_chat;
    int m_failures = 0;
};

Result<int> chat(const CommonOptions& options, const std::string& system)
{
    EngineSession session(options);
    if (auto loaded = session.load(options.settings.engine); !loaded)
        return tl::unexpected(loaded.error());
    if (!options.quiet)
        writeNote(fmt::format("{} on {}, {} tokens of context. /exit or Ctrl-D ends, Ctrl-C stops an answer.",
                              session.model().model.name, session.model().description, session.model().context));

    const auto storage = options.save ? Storage::open(options.dataDirectory)
                                      : Storage::none({ErrorCode::FileAccess, "saving is off", {}});
    if (options.save && storage->state() != Storage::State::Ready)
        writeError("the conversation is not saved: " + storage->error().message);
    if (!storage->notice().empty())
        writeError(storage->notice());
    storage->onWriteFailed([](const Error& error) { writeError("not saved: " + error.message); });

    LineReader lines;
    bool isScriptFailed = false;
    {
        Conversation conversation(options, session, *storage);
        if (!system.empty())
            conversation.setSystemPrompt(system);
        const bool isTerminal = ::isatty(STDIN_FILENO) == 1;
        for (;;) {
            if (isTerminal && !writeOut("> "))
                return tl::unexpected(outputFailed());
            const auto line = lines.next();
            if (!line || *line == "/exit")
                break;
            if (line->find_first_not_of(" \t") == std::string::npos)
                continue;
            if (auto done = conversation.ask(*line); !done)
                return tl::unexpected(done.error());
        }
        if (isTerminal)
            writeOut("\n");
        else
            isScriptFailed = conversation.failures() > 0;  // a person has seen it and gone on, a script has not
    }
    if (auto saved = storage->flush().get(); !saved && options.save && storage->state() == Storage::State::Ready)
        return tl::unexpected(saved.error());
    if (interrupted())
        return kInterrupted;
    return isScriptFailed ? kFailed : kDone;
}

}  // namespace

void addChat(CommandLine& line)
{
    auto system = std::make_shared<std::string>();
    CLI::App& command = line.add("chat", "a conversation in the terminal",
                                 CommandLine::kNotes | CommandLine::kData | CommandLine::kModel | CommandLine::kEngine |
                                     CommandLine::kSaving,
                                 [system](const CommonOptions& options) { return chat(options, *system); });
    command.add_option("--system", *system, "a system message");
}

}  // namespace tokenscope::cli
