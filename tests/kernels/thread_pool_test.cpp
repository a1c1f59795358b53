#include "kernels/cpu/thread_pool.h"

#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <thread>

namespace tokenscope::kernels {
namespace {

TEST(ThreadPool, EveryThreadRunsOnceAndThreadZeroIsTheCaller)
{
    for (const int threads : {1, 2, 3, 7}) {
        const auto pool = ThreadPool::start(threads).value();
        std::vector<int> runs(static_cast<std::size_t>(threads), 0);
        std::thread::id first;
        for (int i = 0; i < 20; ++i)
            pool->run([&](int thread) {
                ++runs[static_cast<std::size_t>(thread)];
                if (thread == 0)
                    first = std::this_thread::get_id();
            });
        EXPECT_EQ(runs, std::vector<int>(static_cast<std::size_t>(threads), 20));
        EXPECT_EQ(first, std::this_thread::get_id());
    }
}

TEST(ThreadPool, WhatWasWrittenBeforeABarrierIsSeenAfterIt)
{
    constexpr int kThreads = 3, kRounds = 200;
    const auto pool = ThreadPool::start(kThreads).value();
    std::vector<int> values(kThreads, 0);  // plain: the thread sanitizer watches
    std::vector<int> wrong(kThreads, 0);
    pool->run([&](int thread) {
        const auto t = static_cast<std::size_t>(thread);
        for (int round = 1; round <= kRounds; ++round) {
            values[t] = round;
            pool->barrier();
            wrong[t] += std::accumulate(values.begin(), values.end(), 0) != kThreads * round;
            pool->barrier();
        }
    });
    EXPECT_EQ(wrong, std::vector<int>(kThreads, 0));
}

TEST(ThreadPool, AThreadThatWaitsLongerThanItsSpinIsWoken)
{
    const auto pool = ThreadPool::start(2).value();
    for (const int late : {0, 1})
        pool->run([&](int thread) {
            if (thread == late)
                std::this_thread::sleep_for(std::chrono::milliseconds(5));
            pool->barrier();
        });
}

TEST(ThreadPool, AllThreadsGetTheSameAnswerAboutACancel)
{
    constexpr int kThreads = 3;
    const auto pool = ThreadPool::start(kThreads).value();
    std::atomic<bool> cancelled{false};
    std::vector<int> rounds(kThreads, 0);
    pool->run([&](int thread) {
        while (pool->barrier(&cancelled)) {
            if (++rounds[static_cast<std::size_t>(thread)] == 50 && thread == 1)
                cancelled = true;
        }
    });
    EXPECT_EQ(rounds[0], rounds[1]);
    EXPECT_EQ(rounds[0], rounds[2]);
    EXPECT_GE(rounds[1], 50);
}

TEST(ThreadPool, SharesCoverAllItemsAndDifferByOneAtMost)
{
    for (const int count : {0, 1, 5, 36, 1000})
        for (const int threads : {1, 2, 3, 16}) {
            int next = 0;
            for (int thread = 0; thread < threads; ++thread) {
                const Share share = shareOf(count, thread, threads);
                EXPECT_EQ(share.begin, next);
                EXPECT_GE(share.end - share.begin, count / threads);
                EXPECT_LE(share.end - share.begin, count / threads + 1);
                next = share.end;
            }
            EXPECT_EQ(next, count);
        }
}

}  // namespace
}  // namespace tokenscope::kernels
