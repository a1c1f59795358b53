#include "kernels/cpu/work_sharing.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace tokenscope::kernels {
namespace {

// Every unit computed exactly once, call after call, whoever is fast: the threads' speeds differ by yielding.
void expectEachUnitOnce(int threads, int count, int chunk)
{
    auto pool = ThreadPool::start(threads);
    ASSERT_TRUE(pool) << pool.error().message;
    WorkSharing sharing(threads);
    constexpr int kCalls = 50;
    std::vector<std::atomic<int>> computed(static_cast<std::size_t>(count) * kCalls);
    (*pool)->run([&](int thread) {
        for (int call = 0; call < kCalls; ++call) {
            sharing.run(thread, count, chunk, [&](int begin, int end) {
                if ((thread + call) % threads == 0)
                    std::this_thread::yield();
                for (int unit = begin; unit < end; ++unit)
                    computed[static_cast<std::size_t>(call * count + unit)].fetch_add(1);
            });
            (*pool)->barrier();
        }
    });
    for (const std::atomic<int>& times : computed)
        ASSERT_EQ(times.load(), 1) << threads << " threads, " << count << " units, at least " << chunk << " at a time";
}

TEST(WorkSharing, ComputesEachUnitOnce)
{
    for (const int threads : {1, 2, 3, 8})
        for (const int count : {1, 2, 7, 96, 1000})
            for (const int chunk : {1, 4, 64})
                expectEachUnitOnce(threads, count, chunk);
}

TEST(WorkSharing, NoUnitsIsNoWork)
{
    WorkSharing sharing(1);
    sharing.run(0, 0, 4, [](int, int) { FAIL(); });
}

TEST(WorkSharing, TakesWhatASleepingThreadLeaves)
{
    auto pool = ThreadPool::start(2);
    ASSERT_TRUE(pool) << pool.error().message;
    WorkSharing sharing(2);
    std::atomic<int> doneByFirst{0};
    std::atomic<bool> firstIsDone{false};
    (*pool)->run([&](int thread) {
        if (thread == 1)  // begins only when the other has nothing left to do
            while (!firstIsDone.load())
                std::this_thread::yield();
        sharing.runEach(thread, 100, [&](int) { doneByFirst.fetch_add(thread == 0); });
        if (thread == 0)
            firstIsDone = true;
    });
    EXPECT_EQ(doneByFirst.load(), 100);
}

}  // namespace
}  // namespace tokenscope::kernels
