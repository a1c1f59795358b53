#include "engine/base/utf8.h"
#include "engine/tokenizer/text_stream.h"
#include "tests/support/random_text.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tokenscope {
namespace {

struct Emitted {
    std::string text;
    bool stopped = false;
};

Emitted stream(const std::vector<std::string>& pieces, const std::vector<std::string>& stops)
{
    TextStream out(stops);
    Emitted emitted;
    for (const std::string& piece : pieces) {
        const TextStream::Piece shown = out.push(piece);
        emitted.text += shown.text;
        emitted.stopped = shown.stopped;
    }
    emitted.text += out.finish();
    EXPECT_EQ(out.textBytes(), emitted.text.size());
    return emitted;
}

// The whole text at once: up to where the first stop string begins.
std::string upToFirstStop(const std::string& text, const std::vector<std::string>& stops)
{
    std::size_t end = text.size();
    for (const std::string& stop : stops)
        end = std::min(end, stop.empty() ? std::string::npos : text.find(stop));
    return replaceInvalidUtf8(std::string_view(text).substr(0, end));
}

TEST(TextStream, HoldsBackAnUnfinishedCharacter)
{
    TextStream out({});
    EXPECT_EQ(out.push("a\xF0\x9F").text, "a");
    EXPECT_EQ(out.textBytes(), 3u);
    EXPECT_EQ(out.push("\x98").text, "");
    EXPECT_EQ(out.push("\x80z").text, "\U0001F600z");
    EXPECT_EQ(out.finish(), "");
}

TEST(TextStream, UnfinishedAtTheEndIsMarked)
{
    EXPECT_EQ(stream({"a\xE2", "\x82"}, {}).text, "a\uFFFD");
}

TEST(TextStream, InvalidBytesAreMarkedAtOnceAndCostNothingValid)
{
    TextStream out({});
    EXPECT_EQ(out.push("a\xFF"
                       "b\xC3(")
                  .text,
              "a\uFFFDb\uFFFD(");
}

TEST(TextStream, StopStringMayStraddleTokens)
{
    TextStream out({"STOP"});
    EXPECT_EQ(out.push("one ST").text, "one ");
    EXPECT_EQ(out.push("O").text, "");
    EXPECT_EQ(out.textBytes(), 7u);
    const auto last = out.push("P and more");
    EXPECT_TRUE(last.stopped);
    EXPECT_EQ(last.text, "");
    EXPECT_EQ(out.textBytes(), 4u);
    EXPECT_TRUE(out.push("ignored").stopped);
    EXPECT_EQ(out.finish(), "");
}

TEST(TextStream, WhatOnlyLookedLikeAStopIsShown)
{
    const Emitted emitted = stream({"ST", "OX"}, {"STOP"});
    EXPECT_EQ(emitted.text, "STOX");
    EXPECT_FALSE(emitted.stopped);
    EXPECT_EQ(stream({"aST"}, {"STOP"}).text, "aST");
}

TEST(TextStream, TheStopThatBeginsFirstWins)
{
    EXPECT_EQ(stream({"xab", "c"}, {"abc", "b"}).text, "x");
    EXPECT_EQ(stream({"xab", "d"}, {"abc", "b"}).text, "xa");
    EXPECT_EQ(stream({"xab"}, {"abc", "b"}).text, "xa");
    EXPECT_EQ(stream({"aab", "aac"}, {"aac"}).text, "aab");
}

TEST(TextStream, EmptyStopStringsMeanNothing)
{
    EXPECT_EQ(stream({"abc"}, {""}).text, "abc");
}

TEST(TextStream, AnySplitGivesTheSameText)
{
    std::mt19937 random(2);
    for (int round = 0; round < 4000; ++round) {
        std::string text;
        const bool letters = round % 2 == 0;  // few letters: many near misses; else Unicode with damage
        if (letters) {
            for (std::uint32_t i = 0; i < 5 + test::below(random, 25); ++i)
                text += static_cast<char>('a' + test::below(random, 3));
        } else {
            text = test::randomUtf8(random, 12);
            for (int i = 0; i < round % 3; ++i)
                text[test::below(random, static_cast<std::uint32_t>(text.size()))] = static_cast<char>(random());
        }
        std::vector<std::string> stops;
        for (std::uint32_t i = 0; i < test::below(random, 4); ++i) {
            std::string stop;
            for (std::uint32_t k = 0; k < 1 + test::below(random, 6); ++k)
                stop += letters ? std::string(1, static_cast<char>('a' + test::below(random, 3)))
                                : test::randomUtf8(random, 1);
            if (!letters && test::below(random, 2))
                stop = text.substr(test::below(random, static_cast<std::uint32_t>(text.size())), 3);
            stops.push_back(stop);
        }
        std::vector<std::string> pieces;
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t bytes = test::below(random, 5);  // empty pieces too
            pieces.push_back(text.substr(at, bytes));
            at += bytes;
        }
        EXPECT_EQ(stream(pieces, stops).text, upToFirstStop(text, stops));
    }
}

}  // namespace
}  // namespace tokenscope
