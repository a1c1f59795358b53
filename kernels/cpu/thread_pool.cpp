#include "kernels/cpu/thread_pool.h"

#include <pthread.h>

#include <chrono>
#include <cstdio>
#include <system_error>

namespace tokenscope::kernels {
namespace {

// Longer than any stage's imbalance when all threads run, short enough not to take a core from the window.
constexpr std::chrono::microseconds kSpin{50};

inline void relax()
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace

KernelResult<std::unique_ptr<ThreadPool>> ThreadPool::start(int threads)
{
    std::unique_ptr<ThreadPool> pool(new ThreadPool(threads));
    try {
        pool->m_workers.reserve(static_cast<std::size_t>(threads - 1));
        for (int thread = 1; thread < threads; ++thread)
            pool->m_workers.emplace_back([p = pool.get(), thread] { p->workerLoop(thread); });
    } catch (const std::system_error&) {
        // The ones that run wait for a full team: complete it by proxy, with the order to leave.
        const int missing = threads - 1 - static_cast<int>(pool->m_workers.size());
        const std::string message = "thread " + std::to_string(threads - missing) + " of " + std::to_string(threads) +
                                    " could not be started: choose fewer threads";
        pool->m_quit = true;
        pool->m_arrived.fetch_add(missing);
        pool->barrier();
        for (std::thread& worker : pool->m_workers)
            worker.join();
        pool->m_workers.clear();
        return tl::unexpected(KernelError{KernelErrorCode::OutOfMemory, message});
    }
    return pool;
}

ThreadPool::~ThreadPool()
{
    if (m_workers.empty())
        return;
    m_quit = true;
    barrier();
    for (std::thread& worker : m_workers)
        worker.join();
}

bool ThreadPool::barrier(const std::atomic<bool>* cancelled)
{
    if (m_threads == 1)
        return !(cancelled && cancelled->load(std::memory_order_relaxed));

    const unsigned generation = m_generation.load(std::memory_order_relaxed);
    if (m_arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == m_threads) {
        m_goOn = !(cancelled && cancelled->load(std::memory_order_relaxed));
        m_arrived.store(0, std::memory_order_relaxed);
        // Sequentially consistent with the sleeper's pair (count, look again): one of the two sees the other.
        m_generation.store(generation + 1, std::memory_order_seq_cst);
        if (m_sleepers.load(std::memory_order_seq_cst) > 0) {
            const std::lock_guard lock(m_mutex);
            m_completed.notify_all();
        }
    } else {
        waitFor(generation);
    }
    return m_goOn;
}

void ThreadPool::waitFor(unsigned generation)
{
    const auto completed = [&](std::memory_order order) { return m_generation.load(order) != generation; };
    const auto start = std::chrono::steady_clock::now();
    do {
        for (int i = 0; i < 64; ++i) {
            if (completed(std::memory_order_acquire))
                return;
            relax();
        }
    } while (std::chrono::steady_clock::now() - start < kSpin);

    std::unique_lock lock(m_mutex);
    m_sleepers.fetch_add(1, std::memory_order_seq_cst);
    m_completed.wait(lock, [&] { return completed(std::memory_order_seq_cst); });
    m_sleepers.fetch_sub(1, std::memory_order_relaxed);
}

void ThreadPool::workerLoop(int thread)
{
    char name[16];
    std::snprintf(name, sizeof name, "kernel-%d", thread);
    pthread_setname_np(pthread_self(), name);
    for (;;) {
        barrier();
        if (m_quit)
            return;
        m_call(m_context, thread);
        barrier();
    }
}

}  // namespace tokenscope::kernels
