// Splits a stage's work between the threads of a team: every thread begins with a contiguous part of its own, so that
// it reads memory in one direction, and one that is done takes from the others' parts. Static halves alone lose
// what the slower thread takes longer: two virtual cores seldom run at the same speed, and one of them may just draw
// the window.
//
// Which thread computes a chunk changes nothing in its result, so results do not depend on the timing.
//
// All threads call run() in the same order, with a barrier between two calls: a counter of the call after next is reset
// while nobody uses it.
#pragma once

#include "kernels/cpu/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <vector>

namespace tokenscope::kernels {

class WorkSharing {
public:
    explicit WorkSharing(int threads) : m_threads(threads), m_team(static_cast<std::size_t>(threads)) {}

    // compute(begin, end) for pieces of [0, count), the last ones of at least `chunk` units. Pieces are large at first:
    // taking one is an atomic operation, which waits for the reads under way (2 KiB of weights at a time instead of
    // pieces that shrink: 15 % slower at one row).
    template <typename Compute>
    void run(int thread, int count, int chunk, Compute compute)
    {
        run(thread, chunk, [&](int owner) { return shareOf(count, owner, m_threads); }, compute);
    }

    // compute(unit) for each of [0, count).
    template <typename Compute>
    void runEach(int thread, int count, Compute compute)
    {
        run(thread, count, 1, [&](int begin, int end) {
            for (int unit = begin; unit < end; ++unit)
                compute(unit);
        });
    }

    // The same with given first parts: thread t begins with units begins[t] … begins[t + 1] − 1.
    template <typename Compute>
    void runEach(int thread, const std::vector<int>& begins, Compute compute)
    {
        const auto part = [&](int owner) {
            const auto t = static_cast<std::size_t>(owner);
            return Share{begins[t], begins[t + 1]};
        };
        run(thread, 1, part, [&](int begin, int end) {
            for (int unit = begin; unit < end; ++unit)
                compute(unit);
        });
    }

private:
    static constexpr int kGenerations = 3;  // in use, being reset, and the one a slow thread may still look at

    struct alignas(64) Member {
        std::atomic<int> taken[kGenerations] = {};  // units of its part that somebody has taken
        int calls = 0;                              // of this thread alone
    };

    template <typename Part, typename Compute>
    void run(int thread, int chunk, Part part, Compute compute)
    {
        Member& mine = m_team[static_cast<std::size_t>(thread)];
        const int generation = mine.calls++ % kGenerations;
        mine.taken[(generation + 1) % kGenerations].store(0, std::memory_order_relaxed);
        for (int i = 0; i < m_threads; ++i) {
            const int owner = (thread + i) % m_threads;
            std::atomic<int>& taken = m_team[static_cast<std::size_t>(owner)].taken[generation];
            const Share share = part(owner);
            const int size = share.end - share.begin;
            int begin = taken.load(std::memory_order_relaxed);
            while (begin < size) {
                const int rest = size - begin;
                const int end = begin + std::clamp(i == 0 ? rest * 3 / 4 : rest / 2, std::min(chunk, rest), rest);
                if (!taken.compare_exchange_weak(begin, end, std::memory_order_relaxed))
                    continue;
                compute(share.begin + begin, share.begin + end);
                begin = taken.load(std::memory_order_relaxed);
            }
        }
    }

    int m_threads;
    std::vector<Member> m_team;
};

}  // namespace tokenscope::kernels
