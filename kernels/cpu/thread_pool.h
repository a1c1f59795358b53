// A fixed team of threads that compute a step together, split statically. The calling thread is thread 0, so that one
// thread needs no worker at all. Threads meet at barriers: a short spin (a barrier between running threads costs about
// 50 ns), then sleep, because a spinning team beside the window's thread on two cores would be a bug.
//
// run() is called from one thread at a time.
#pragma once

#include "kernels/kernel_error.h"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace tokenscope::kernels {

class ThreadPool {
public:
    // OutOfMemory: the system gives no more threads.
    static KernelResult<std::unique_ptr<ThreadPool>> start(int threads);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    int threads() const { return m_threads; }

    // Calls work(thread) once on every thread and returns when all are done. `work` must not throw.
    template <typename Work>
    void run(Work&& work)
    {
        m_context = &work;
        m_call = [](void* context, int thread) { (*static_cast<std::remove_reference_t<Work>*>(context))(thread); };
        barrier();
        work(0);
        barrier();
    }

    // Inside run(): waits for all threads. The flag is read once, by the last to arrive, and all threads get the same
    // answer: false if it was set.
    bool barrier(const std::atomic<bool>* cancelled = nullptr);

private:
    explicit ThreadPool(int threads) : m_threads(threads) {}
    void workerLoop(int thread);
    void waitFor(unsigned generation);

    const int m_threads;
    std::vector<std::thread> m_workers;

    // Written by thread 0 before a barrier, read by the others after it.
    void (*m_call)(void*, int) = nullptr;
    void* m_context = nullptr;
    bool m_quit = false;

    bool m_goOn = true;  // written by the last to arrive, read after the barrier
    alignas(64) std::atomic<int> m_arrived{0};
    alignas(64) std::atomic<unsigned> m_generation{0};  // barriers completed
    std::atomic<int> m_sleepers{0};
    std::mutex m_mutex;
    std::condition_variable m_completed;
};

// The part [begin, end) of `count` items that belongs to `thread`; parts differ by at most one item.
struct Share {
    int begin;
    int end;
};
inline Share shareOf(int count, int thread, int threads)
{
    const auto at = [&](int t) { return static_cast<int>(static_cast<long long>(count) * t / threads); };
    return {at(thread), at(thread + 1)};
}

}  // namespace tokenscope::kernels
