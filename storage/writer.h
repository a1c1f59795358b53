// The one thread that writes. Jobs come in from any thread and are done in order, each in a transaction of its own.
//
// A job that the disk refuses (full, read-only, locked for long) is kept and tried again before the next one and at the
// end, so that what comes later never overtakes what it depends on; of two unsaved states of the same row the newer is
// kept. Jobs with an answer (runs) are told of the failure instead and not tried again.
#pragma once

#include "engine/base/result.h"
#include "storage/database.h"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <thread>

namespace tokenscope {

class Writer {
public:
    using Work = std::function<Result<void>(const Connection&)>;

    explicit Writer(Connection connection);
    ~Writer();  // does what is queued, then closes the database
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

    // `row`: whose state it writes, 0 = no row's; a later job for the same row replaces one that waits for the disk.
    void enqueue(std::int64_t row, Work work);
    // Survives power loss (synchronous = FULL); `finished` is called on the storage thread when it is on disk or
    // failed.
    void enqueueDurable(Work work, std::function<void(const Result<void>&)> finished);
    std::future<Result<void>> flush();
    void onFailed(std::function<void(const Error&)> handler);

private:
    struct Job {
        std::int64_t row = 0;
        Work work;
        std::function<void(const Result<void>&)> finished;  // of durable ones
        std::optional<std::promise<Result<void>>> flushed;  // a flush, without work
    };

    void loop();
    void handle(Job job);
    Result<void> inTransaction(const Work& work);
    Result<void> durably(const Work& work);
    Result<void> retryUnsaved();
    void keep(Job job);
    void report(const Error& error);

    Connection m_connection;         // storage thread only
    std::deque<Job> m_unsaved;       // storage thread only; in order
    std::optional<Error> m_trouble;  // storage thread only; why the first of them could not be written

    std::mutex m_mutex;
    std::condition_variable m_wake;
    std::deque<Job> m_queue;                      // under m_mutex
    std::function<void(const Error&)> m_handler;  // under m_mutex
    bool m_ending = false;                        // under m_mutex

    std::thread m_thread;  // last: begins when all else is there
};

}  // namespace tokenscope
