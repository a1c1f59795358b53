#include "engine/schedule/scheduler.h"

#include "engine/schedule/cost_model.h"
#include "engine/types/settings.h"

#include <limits>
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace tokenscope {
namespace {

constexpr RowBudget budgetOf(int rows)
{
    return {.prefillRows = rows};
}

// Computes the step and appends a token to every sequence that is at its end.
void run(Scheduler& scheduler, const ScheduledStep& step)
{
    scheduler.commit(step);
    for (const ScheduledPiece& piece : step.pieces)
        if (piece.isLast && !piece.isScoring)
            scheduler.appendToken(piece.request);
}

TEST(Scheduler, APromptIsComputedInPiecesOfTheBudget)
{
    Scheduler scheduler({1, 10});
    scheduler.add(1, 70, false);

    std::vector<int> rows;
    for (int i = 0; i < 4; ++i) {
        const ScheduledStep step = scheduler.plan(budgetOf(30));
        ASSERT_EQ(step.pieces.size(), 1u);
        rows.push_back(step.pieces[0].rows);
        EXPECT_EQ(step.pieces[0].isPrefill, i < 3);
        EXPECT_EQ(step.pieces[0].isLast, i >= 2);
        run(scheduler, step);
    }
    EXPECT_EQ(rows, (std::vector<int>{30, 30, 10, 1}));
}

TEST(Scheduler, DecodeRowsComeFirstAndPromptsFillTheRest)
{
    Scheduler scheduler({3, 100});
    scheduler.add(1, 4, false);
    run(scheduler, scheduler.plan(budgetOf(100)));
    scheduler.add(2, 50, false);
    scheduler.add(3, 50, false);

    const ScheduledStep step = scheduler.plan(budgetOf(64));
    ASSERT_EQ(step.pieces.size(), 3u);
    EXPECT_EQ(step.pieces[0].request, 1u);
    EXPECT_EQ(step.pieces[0].rows, 1);
    EXPECT_EQ(step.pieces[1].request, 2u);
    EXPECT_EQ(step.pieces[1].rows, 50);
    EXPECT_EQ(step.pieces[2].request, 3u);
    EXPECT_EQ(step.pieces[2].rows, 14);
    EXPECT_EQ(step.rows, 65);
    EXPECT_EQ(step.prefillRows, 64);
}

TEST(Scheduler, MoreRequestsThanPlacesWaitInOrder)
{
    Scheduler scheduler({2, 100});
    for (RequestId request = 1; request <= 4; ++request)
        scheduler.add(request, 10, false);
    run(scheduler, scheduler.plan(budgetOf(100)));
    EXPECT_EQ(scheduler.runningCount(), 2u);
    EXPECT_EQ(scheduler.waitingCount(), 2u);

    EXPECT_TRUE(scheduler.remove(1));
    const ScheduledStep step = scheduler.plan(budgetOf(100));
    EXPECT_EQ(step.pieces.back().request, 3u);
    EXPECT_EQ(scheduler.waitingCount(), 1u);
}

TEST(Scheduler, ARequestWaitsUntilItsWholePromptFits)
{
    Scheduler scheduler({4, 4});  // 128 tokens
    scheduler.add(1, 96, false);
    scheduler.add(2, 64, false);
    scheduler.add(3, 1, false);  // would fit, but 2 was first
    run(scheduler, scheduler.plan(budgetOf(10)));
    EXPECT_EQ(scheduler.runningCount(), 1u);
    EXPECT_EQ(scheduler.pool().usedCount(), 1);  // blocks are taken as they are needed

    scheduler.remove(1);
    EXPECT_EQ(scheduler.pool().usedCount(), 0);
    const ScheduledStep step = scheduler.plan(budgetOf(1000));
    EXPECT_EQ(step.pieces.size(), 2u);
}

TEST(Scheduler, ADecodingSequenceWithoutABlockIsReported)
{
    Scheduler scheduler({2, 2});
    scheduler.add(1, 32, false);
    scheduler.add(2, 32, false);
    run(scheduler, scheduler.plan(budgetOf(1000)));

    const ScheduledStep step = scheduler.plan(budgetOf(1000));
    EXPECT_TRUE(step.pieces.empty());
    EXPECT_EQ(step.starved, (std::vector<RequestId>{1, 2}));
    scheduler.remove(1);
    const ScheduledStep next = scheduler.plan(budgetOf(1000));
    ASSERT_EQ(next.pieces.size(), 1u);
    EXPECT_EQ(next.pieces[0].newBlocks, 1);
}

TEST(Scheduler, BlocksPromisedToAPromptAreNotGivenToOthers)
{
    Scheduler scheduler({2, 4});
    scheduler.add(1, 32, false);
    scheduler.add(2, 96, false);
    run(scheduler, scheduler.plan(budgetOf(64)));  // 1 whole, 32 rows of 2; two more blocks are promised to 2

    const ScheduledStep step = scheduler.plan(budgetOf(8));
    EXPECT_EQ(step.starved, (std::vector<RequestId>{1}));
    ASSERT_EQ(step.pieces.size(), 1u);
    EXPECT_EQ(step.pieces[0].request, 2u);
}

TEST(Scheduler, AStepThatIsNotCommittedIsPlannedAgain)
{
    Scheduler scheduler({1, 10});
    scheduler.add(1, 40, false);
    const ScheduledStep abandoned = scheduler.plan(budgetOf(40));
    const ScheduledStep again = scheduler.plan(budgetOf(40));
    ASSERT_EQ(again.pieces.size(), 1u);
    EXPECT_EQ(again.pieces[0].firstToken, 0);
    EXPECT_EQ(again.pieces[0].rows, 40);
    EXPECT_EQ(again.pieces[0].newBlocks, abandoned.pieces[0].newBlocks);
    EXPECT_EQ(scheduler.pool().usedCount(), 2);
}

TEST(Scheduler, ScoringRequestsShareASmallBudgetOfLogitRows)
{
    Scheduler scheduler({3, 100});
    scheduler.add(1, 100, true);
    scheduler.add(2, 100, true);
    scheduler.add(3, 100, false);
    const ScheduledStep step = scheduler.plan({.prefillRows = 512, .scoreRows = 32});
    ASSERT_EQ(step.pieces.size(), 1u) << "2 gets no row, and 3 is behind it";
    EXPECT_EQ(step.pieces[0].rows, 32);
}

// Invariants under random use, and the same calls give the same plans.
TEST(Scheduler, KeepsItsInvariantsAndCanBeReplayed)
{
    for (unsigned seed = 0; seed < 40; ++seed) {
        std::mt19937 random(seed);
        const ScheduleLimits limits{static_cast<int>(random() % 8) + 1, static_cast<int>(random() % 30) + 4};
        Scheduler scheduler(limits);
        Scheduler twin(limits);
        std::map<RequestId, int> computed;
        RequestId next = 1;
        RequestId lastAdmitted = 0;

        for (int turn = 0; turn < 300; ++turn) {
            if (random() % 3 == 0) {
                const int tokens = static_cast<int>(random() % static_cast<unsigned>(scheduler.maxTokens())) + 1;
                const bool isScoring = random() % 4 == 0;
                scheduler.add(next, tokens, isScoring);
                twin.add(next, tokens, isScoring);
                computed[next++] = 0;
            }
            if (random() % 5 == 0 && !computed.empty()) {
                auto it = computed.begin();
                std::advance(it, static_cast<long>(random() % computed.size()));
                ASSERT_TRUE(scheduler.remove(it->first));
                ASSERT_FALSE(scheduler.remove(it->first));
                twin.remove(it->first);
                computed.erase(it);
            }
            const RowBudget budget{static_cast<int>(random() % 100) + 1, 32};
            const ScheduledStep step = scheduler.plan(budget);
            const ScheduledStep same = twin.plan(budget);
            ASSERT_EQ(step.rows, same.rows);
            ASSERT_EQ(step.pieces.size(), same.pieces.size());
            ASSERT_EQ(step.starved, same.starved);
            ASSERT_LE(step.prefillRows, budget.prefillRows);
            ASSERT_LE(static_cast<int>(step.pieces.size()), limits.sequences);
            ASSERT_TRUE(!step.pieces.empty() || !step.starved.empty() || scheduler.isIdle()) << "a deadlock";

            std::set<BlockId> seen;
            int rows = 0;
            for (std::size_t i = 0; i < step.pieces.size(); ++i) {
                const ScheduledPiece& piece = step.pieces[i];
                ASSERT_EQ(piece.request, same.pieces[i].request);
                ASSERT_EQ(piece.rows, same.pieces[i].rows);
                ASSERT_EQ(piece.firstToken, computed.at(piece.request));
                ASSERT_GE(static_cast<int>(scheduler.blocksOf(piece.request).size()) * 32,
                          piece.firstToken + piece.rows);
                for (BlockId block : scheduler.blocksOf(piece.request))
                    ASSERT_TRUE(seen.insert(block).second) << "a block of two sequences";
                if (piece.isPrefill && piece.firstToken == 0) {
                    ASSERT_GT(piece.request, lastAdmitted) << "overtaken in the queue";
                    lastAdmitted = piece.request;
                }
                rows += piece.rows;
            }
            ASSERT_EQ(rows, step.rows);
            if (random() % 10 == 0) {
                lastAdmitted = 0;  // abandoned: the same prompts begin again
                continue;
            }
            run(scheduler, step);
            run(twin, same);
            for (const ScheduledPiece& piece : step.pieces) {
                computed[piece.request] += piece.rows;
                if (piece.isScoring && piece.isLast) {
                    scheduler.remove(piece.request);
                    twin.remove(piece.request);
                    computed.erase(piece.request);
                }
            }
            for (RequestId request : step.starved) {
                scheduler.remove(request);
                twin.remove(request);
                computed.erase(request);
            }
        }
        for (const auto& [request, unused] : computed)
            scheduler.remove(request);
        EXPECT_EQ(scheduler.pool().usedCount(), 0) << "a block was lost";
        EXPECT_TRUE(scheduler.isIdle());
    }
}

TEST(CostModel, AStepStaysShortWhileSomebodyDecodes)
{
    CostModel cost(0);
    cost.observe(64, 64'000'000);  // 1 ms a row
    EXPECT_EQ(cost.prefillRows(4), 76);
    EXPECT_EQ(cost.prefillRows(0), 500);
    CostModel slow(0);
    slow.observe(64, 6'400'000'000);
    EXPECT_EQ(slow.prefillRows(1), 8);
}

TEST(CostModel, ASettingIsTakenAsItIs)
{
    EXPECT_EQ(CostModel(7).prefillRows(3), 7);
    EXPECT_EQ(CostModel(kWholePrompt).prefillRows(3), std::numeric_limits<int>::max());
}

TEST(CostModel, StepsOfFewRowsAndAClockThatStandsStillSayNothing)
{
    CostModel cost(0);
    const int before = cost.prefillRows(0);
    cost.observe(1, 10'000'000'000);
    cost.observe(100, 0);
    EXPECT_EQ(cost.prefillRows(0), before);
}

}  // namespace
}  // namespace tokenscope
