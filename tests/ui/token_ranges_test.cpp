#include "ui/models/token_ranges.h"

#include <gtest/gtest.h>

namespace tokenscope::ui {
namespace {

TokenStamp token(std::uint32_t begin, std::uint32_t end)
{
    TokenStamp stamp;
    stamp.textBegin = begin;
    stamp.textEnd = end;
    return stamp;
}

TEST(TokenRanges, BytesBecomePositionsAsQtCounts)
{
    // "é" two bytes, one position; "🙂" four bytes, two positions.
    const std::string text = "aé🙂b";
    const std::vector<TokenStamp> stamps{token(0, 1), token(1, 3), token(3, 7), token(7, 8)};
    const TokenRanges ranges(text, stamps);
    EXPECT_EQ(ranges.at(0), (TextRange{0, 1}));
    EXPECT_EQ(ranges.at(1), (TextRange{1, 2}));
    EXPECT_EQ(ranges.at(2), (TextRange{2, 4}));
    EXPECT_EQ(ranges.at(3), (TextRange{4, 5}));
}

TEST(TokenRanges, ATokenThatHoldsPartOfACharacterCoversTheWhole)
{
    const std::string text = "x🙂y";
    const TokenRanges ranges(text, std::vector<TokenStamp>{token(0, 1), token(1, 3), token(3, 5), token(5, 6)});
    EXPECT_EQ(ranges.at(1), (TextRange{1, 3}));
    EXPECT_EQ(ranges.at(2), (TextRange{1, 3}));
    EXPECT_EQ(ranges.at(3), (TextRange{3, 4}));
}

TEST(TokenRanges, FindsTheTokenUnderAPosition)
{
    const TokenRanges ranges("ab cd", std::vector<TokenStamp>{token(0, 2), token(2, 2), token(2, 5), token(5, 5)});
    EXPECT_EQ(ranges.tokenAt(0), 0);
    EXPECT_EQ(ranges.tokenAt(1), 0);
    EXPECT_EQ(ranges.tokenAt(2), 2);
    EXPECT_EQ(ranges.tokenAt(4), 2);
    EXPECT_EQ(ranges.tokenAt(5), std::nullopt);
    EXPECT_EQ(TokenRanges().tokenAt(0), std::nullopt);
}

TEST(TokenRanges, OffsetsBeyondTheTextStayInside)
{
    const TokenRanges ranges("ab", std::vector<TokenStamp>{token(0, 1), token(1, 90)});
    EXPECT_EQ(ranges.at(1), (TextRange{1, 2}));
}

}  // namespace
}  // namespace tokenscope::ui
