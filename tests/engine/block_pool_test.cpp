#include "engine/cache/block_pool.h"

#include <map>
#include <random>

#include <gtest/gtest.h>

namespace tokenscope {
namespace {

TEST(BlockPool, TakingMoreThanIsFreeChangesNothing)
{
    BlockPool pool(3);
    const auto held = pool.take(2).value();

    EXPECT_EQ(pool.take(2).error().code, ErrorCode::OutOfKvMemory);
    EXPECT_EQ(pool.freeCount(), 1);
    EXPECT_EQ(held.size(), 2u);
}

TEST(BlockPool, ASharedBlockIsFreeOnlyAfterItsLastOwner)
{
    BlockPool pool(1);
    const BlockId block = pool.take(1).value().front();
    pool.share(block);

    pool.giveBack(block);
    EXPECT_EQ(pool.freeCount(), 0);
    pool.giveBack(block);
    EXPECT_EQ(pool.freeCount(), 1);
}

// A pool against the simplest model of one: a map from block to owners.
TEST(BlockPool, BehavesLikeASetOfOwnersUnderRandomUse)
{
    for (unsigned seed = 0; seed < 20; ++seed) {
        std::mt19937 random(seed);
        const int count = static_cast<int>(random() % 40) + 1;
        BlockPool pool(count);
        std::map<BlockId, int> owners;

        for (int step = 0; step < 500; ++step) {
            const unsigned action = random() % 3;
            if (action == 0) {
                const int wanted = static_cast<int>(random() % 6);
                const auto taken = pool.take(wanted);
                ASSERT_EQ(taken.has_value(), wanted <= count - static_cast<int>(owners.size()));
                for (BlockId block : taken.value_or(std::vector<BlockId>{})) {
                    ASSERT_GE(block, 0);
                    ASSERT_LT(block, count);
                    ASSERT_TRUE(owners.emplace(block, 1).second) << "handed out twice: " << block;
                }
            } else if (!owners.empty()) {
                auto it = owners.begin();
                std::advance(it, static_cast<long>(random() % owners.size()));
                if (action == 1) {
                    pool.share(it->first);
                    ++it->second;
                } else {
                    pool.giveBack(it->first);
                    if (--it->second == 0)
                        owners.erase(it);
                }
            }
            ASSERT_EQ(pool.usedCount(), static_cast<int>(owners.size()));
            for (const auto& [block, number] : owners)
                ASSERT_EQ(pool.refCount(block), number);
        }
    }
}

}  // namespace
}  // namespace tokenscope
