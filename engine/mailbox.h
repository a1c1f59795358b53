// The two queues between the engine's thread and everybody else: commands in, events out. The only place of the engine
// with a mutex, which is never held while anything is computed.
//
// Every submitted request keeps room for its RequestFinished in the event queue, so that its end is told even when
// memory has run out.
#pragma once

#include "engine/base/clock.h"
#include "engine/engine.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <variant>
#include <vector>

namespace tokenscope {

struct LoadCommand {
    std::filesystem::path path;
    EngineSettings settings;
    Nanoseconds issuedNs = 0;
    std::shared_ptr<std::atomic<bool>> cancelled;
};
struct UnloadCommand {};
struct SubmitCommand {
    RequestId request = 0;
    RequestSpec spec;
    Nanoseconds submittedNs = 0;
};
struct CancelCommand {
    RequestId request = 0;
};
using EngineCommand = std::variant<LoadCommand, UnloadCommand, SubmitCommand, CancelCommand>;

class Mailbox {
public:
    explicit Mailbox(const Clock& clock) : m_clock(clock) {}

    // From any thread.
    void load(const std::filesystem::path& path, const EngineSettings& settings);  // cancels loads issued before
    void cancelLoads();
    void unload();
    RequestId submit(RequestSpec spec);
    // A request the engine has not taken yet ends here and now, else in the engine's thread.
    void cancel(RequestId request);
    std::vector<Event> takeEvents();
    bool waitForEvents(std::chrono::milliseconds timeout);
    std::shared_ptr<const ModelText> modelText() const;
    void close();  // the engine's thread ends as soon as it can

    // From the engine's thread.
    // The next command; nullopt if there is none (waits for one if `wait`) or the box is closed.
    std::optional<EngineCommand> takeCommand(bool wait);
    bool isClosed() const;
    // False if a command waits: it comes first. From here to endStep() interrupted() becomes true when one of these
    // requests is cancelled, or all of them are by a load, unload or close.
    bool beginStep(std::span<const RequestId> requests);
    void endStep();
    const std::atomic<bool>& interrupted() const { return m_interrupted; }
    void push(Event event);
    void push(std::vector<Event>& events);  // empties it
    void pushFinished(RequestFinished&& finished) noexcept;
    void setModelText(std::shared_ptr<const ModelText> text);
    void loadEnded(const std::shared_ptr<std::atomic<bool>>& cancelled);

private:
    void reserveEvents(std::size_t more);
    void cancelLoadsLocked();

    const Clock& m_clock;

    mutable std::mutex m_mutex;
    // Guarded by m_mutex:
    std::condition_variable m_commandArrived;
    std::condition_variable m_eventArrived;
    std::deque<EngineCommand> m_commands;
    std::vector<Event> m_events;
    std::size_t m_unfinished = 0;                             // requests whose RequestFinished is still to come
    std::vector<std::shared_ptr<std::atomic<bool>>> m_loads;  // issued and not ended
    std::vector<RequestId> m_stepRequests;
    std::shared_ptr<const ModelText> m_modelText;
    RequestId m_nextRequest = 1;
    bool m_closed = false;
    bool m_inStep = false;

    std::atomic<bool> m_interrupted = false;  // read by the backend without the mutex
};

}  // namespace tokenscope
