#include "storage/writer.h"

#include "storage/open_database.h"

#include <algorithm>
#include <utility>

namespace tokenscope {
namespace {

// What may be different the next time, as against a statement that is wrong.
bool mayPass(ErrorCode code)
{
    return code == ErrorCode::DiskFull || code == ErrorCode::FileAccess || code == ErrorCode::Busy ||
           code == ErrorCode::OutOfMemory;
}

}  // namespace

Writer::Writer(Connection connection) : m_connection(std::move(connection)), m_thread([this] { loop(); }) {}

Writer::~Writer()
{
    {
        const std::lock_guard lock(m_mutex);
        m_ending = true;
    }
    m_wake.notify_one();
    m_thread.join();
    leaveSession(m_connection);
}

void Writer::enqueue(std::int64_t row, Work work)
{
    {
        const std::lock_guard lock(m_mutex);
        m_queue.push_back({.row = row, .work = std::move(work)});
    }
    m_wake.notify_one();
}

void Writer::enqueueDurable(Work work, std::function<void(const Result<void>&)> finished)
{
    {
        const std::lock_guard lock(m_mutex);
        m_queue.push_back({.work = std::move(work), .finished = std::move(finished)});
    }
    m_wake.notify_one();
}

std::future<Result<void>> Writer::flush()
{
    Job job{.flushed = std::promise<Result<void>>()};
    auto future = job.flushed->get_future();
    {
        const std::lock_guard lock(m_mutex);
        m_queue.push_back(std::move(job));
    }
    m_wake.notify_one();
    return future;
}

void Writer::onFailed(std::function<void(const Error&)> handler)
{
    const std::lock_guard lock(m_mutex);
    m_handler = std::move(handler);
}

void Writer::loop()
{
    for (;;) {
        Job job;
        {
            std::unique_lock lock(m_mutex);
            m_wake.wait(lock, [this] { return m_ending || !m_queue.empty(); });
            if (m_queue.empty())
                break;
            job = std::move(m_queue.front());
            m_queue.pop_front();
        }
        handle(std::move(job));
    }
    (void)retryUnsaved();
}

void Writer::handle(Job job)
{
    const auto before = retryUnsaved();
    if (job.flushed) {
        job.flushed->set_value(before);
        return;
    }
    if (job.finished) {
        const auto done = durably(job.work);
        if (!done)
            report(done.error());
        job.finished(done);
        return;
    }
    if (!before) {
        keep(std::move(job));
        return;
    }
    const auto done = inTransaction(job.work);
    if (done)
        return;
    report(done.error());
    if (mayPass(done.error().code)) {
        m_trouble = done.error();
        keep(std::move(job));
    }
}

Result<void> Writer::inTransaction(const Work& work)
{
    auto transaction = Transaction::begin(m_connection);
    if (!transaction)
        return tl::unexpected(transaction.error());
    if (auto done = work(m_connection); !done)
        return done;
    return transaction->commit();
}

Result<void> Writer::durably(const Work& work)
{
    // The pragma has no effect inside a transaction; it is switched between them.
    if (auto done = m_connection.execute("PRAGMA synchronous=FULL"); !done)
        return done;
    const auto done = inTransaction(work);
    (void)m_connection.execute("PRAGMA synchronous=NORMAL");
    return done;
}

Result<void> Writer::retryUnsaved()
{
    while (!m_unsaved.empty()) {
        const auto done = inTransaction(m_unsaved.front().work);
        if (!done && mayPass(done.error().code)) {
            if (!m_trouble || m_trouble->code != done.error().code)
                report(done.error());
            m_trouble = done.error();
            return done;
        }
        if (!done)
            report(done.error());
        m_unsaved.pop_front();
    }
    m_trouble.reset();
    return {};
}

void Writer::keep(Job job)
{
    const auto same = std::find_if(m_unsaved.begin(), m_unsaved.end(),
                                   [&](const Job& other) { return job.row != 0 && other.row == job.row; });
    if (same != m_unsaved.end())
        same->work = std::move(job.work);
    else
        m_unsaved.push_back(std::move(job));
}

void Writer::report(const Error& error)
{
    std::function<void(const Error&)> handler;
    {
        const std::lock_guard lock(m_mutex);
        handler = m_handler;
    }
    if (handler)
        handler(error);
}

}  // namespace tokenscope
