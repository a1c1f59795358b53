#include "engine/mailbox.h"

#include <algorithm>
#include <cassert>

namespace tokenscope {

void Mailbox::load(const std::filesystem::path& path, const EngineSettings& settings)
{
    auto cancelled = std::make_shared<std::atomic<bool>>(false);
    const std::lock_guard lock(m_mutex);
    cancelLoadsLocked();
    m_loads.push_back(cancelled);
    m_commands.push_back(LoadCommand{path, settings, m_clock.now(), std::move(cancelled)});
    m_interrupted = m_inStep;
    m_commandArrived.notify_one();
}

void Mailbox::cancelLoads()
{
    const std::lock_guard lock(m_mutex);
    cancelLoadsLocked();
}

void Mailbox::unload()
{
    const std::lock_guard lock(m_mutex);
    cancelLoadsLocked();
    m_commands.push_back(UnloadCommand{});
    m_interrupted = m_inStep;
    m_commandArrived.notify_one();
}

RequestId Mailbox::submit(RequestSpec spec)
{
    const Nanoseconds submittedNs = m_clock.now();
    const std::lock_guard lock(m_mutex);
    reserveEvents(1);
    const RequestId request = m_nextRequest;
    m_commands.push_back(SubmitCommand{request, std::move(spec), submittedNs});
    ++m_nextRequest;
    ++m_unfinished;
    m_commandArrived.notify_one();
    return request;
}

void Mailbox::cancel(RequestId request)
{
    const std::lock_guard lock(m_mutex);
    const auto waiting = std::find_if(m_commands.begin(), m_commands.end(), [request](const EngineCommand& command) {
        const auto* submit = std::get_if<SubmitCommand>(&command);
        return submit && submit->request == request;
    });
    if (waiting == m_commands.end()) {
        m_commands.push_back(CancelCommand{request});
        if (std::find(m_stepRequests.begin(), m_stepRequests.end(), request) != m_stepRequests.end())
            m_interrupted = true;
        m_commandArrived.notify_one();
        return;
    }
    SubmitCommand& submit = std::get<SubmitCommand>(*waiting);
    RequestFinished finished;
    finished.request = request;
    finished.sampling = std::move(submit.spec.sampling);
    finished.trace.scheduledNs = submit.spec.scheduledNs;
    finished.trace.submittedNs = submit.submittedNs;
    finished.trace.stoppedNs = finished.trace.teardownNs = m_clock.now();
    finished.trace.reason = StopReason::Cancelled;
    m_commands.erase(waiting);
    m_events.push_back(std::move(finished));  // its room was reserved
    --m_unfinished;
    m_eventArrived.notify_all();
}

std::vector<Event> Mailbox::takeEvents()
{
    const std::lock_guard lock(m_mutex);
    std::vector<Event> taken;
    taken.reserve(m_unfinished);
    taken.swap(m_events);
    return taken;
}

bool Mailbox::waitForEvents(std::chrono::milliseconds timeout)
{
    std::unique_lock lock(m_mutex);
    return m_eventArrived.wait_for(lock, timeout, [this] { return !m_events.empty(); });
}

std::shared_ptr<const ModelText> Mailbox::modelText() const
{
    const std::lock_guard lock(m_mutex);
    return m_modelText;
}

void Mailbox::close()
{
    const std::lock_guard lock(m_mutex);
    m_closed = true;
    cancelLoadsLocked();
    m_interrupted = true;
    m_commandArrived.notify_one();
}

std::optional<EngineCommand> Mailbox::takeCommand(bool wait)
{
    std::unique_lock lock(m_mutex);
    if (wait)
        m_commandArrived.wait(lock, [this] { return m_closed || !m_commands.empty(); });
    if (m_closed || m_commands.empty())
        return std::nullopt;
    std::optional<EngineCommand> command(std::move(m_commands.front()));
    m_commands.pop_front();
    return command;
}

bool Mailbox::isClosed() const
{
    const std::lock_guard lock(m_mutex);
    return m_closed;
}

bool Mailbox::beginStep(std::span<const RequestId> requests)
{
    const std::lock_guard lock(m_mutex);
    if (m_closed || !m_commands.empty())
        return false;
    m_stepRequests.assign(requests.begin(), requests.end());
    m_inStep = true;
    m_interrupted = false;
    return true;
}

void Mailbox::endStep()
{
    const std::lock_guard lock(m_mutex);
    m_stepRequests.clear();
    m_inStep = false;
}

void Mailbox::push(Event event)
{
    const std::lock_guard lock(m_mutex);
    reserveEvents(1);
    m_events.push_back(std::move(event));
    m_eventArrived.notify_all();
}

void Mailbox::push(std::vector<Event>& events)
{
    const std::lock_guard lock(m_mutex);
    reserveEvents(events.size());
    std::move(events.begin(), events.end(), std::back_inserter(m_events));
    events.clear();
    m_eventArrived.notify_all();
}

void Mailbox::pushFinished(RequestFinished&& finished) noexcept
{
    const std::lock_guard lock(m_mutex);
    assert(m_unfinished > 0 && m_events.capacity() > m_events.size());
    --m_unfinished;
    m_events.push_back(std::move(finished));
    m_eventArrived.notify_all();
}

void Mailbox::setModelText(std::shared_ptr<const ModelText> text)
{
    const std::lock_guard lock(m_mutex);
    m_modelText = std::move(text);
}

void Mailbox::loadEnded(const std::shared_ptr<std::atomic<bool>>& cancelled)
{
    const std::lock_guard lock(m_mutex);
    std::erase(m_loads, cancelled);
}

// Room for `more` events beside the ends of all unfinished requests; grows by doubling.
void Mailbox::reserveEvents(std::size_t more)
{
    const std::size_t needed = m_events.size() + m_unfinished + more;
    if (needed > m_events.capacity())
        m_events.reserve(std::max(needed, 2 * m_events.capacity()));
}

void Mailbox::cancelLoadsLocked()
{
    for (const auto& cancelled : m_loads)
        *cancelled = true;
}

}  // namespace tokenscope
