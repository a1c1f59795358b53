// The two published models against tokenizer.json (92 awkward strings) and against themselves.
#include "engine/tokenizer/tokenizer.h"
#include "tests/support/random_text.h"
#include "tests/support/test_data.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <set>

namespace tokenscope {
namespace {

struct PublishedModel {
    const char* name;
    std::optional<std::filesystem::path> (*path)();
    std::set<TokenId> ends;
    bool addsBos;
    TokenId bos;
};

class PublishedTokenizer : public testing::TestWithParam<PublishedModel> {
protected:
    void SetUp() override
    {
        const auto path = GetParam().path();
        if (!path)
            GTEST_SKIP() << test::kNoModel;
        const auto file = GgufFile::open(*path);
        ASSERT_TRUE(file) << file.error().message;
        auto made = Tokenizer::create(*file, "");
        ASSERT_TRUE(made) << made.error().message;
        tokenizer = *made;
    }

    std::shared_ptr<const Tokenizer> tokenizer;
};

TEST_P(PublishedTokenizer, GivesTheReferenceIdsForEveryString)
{
    const auto entries = nlohmann::json::parse(test::readFile(test::dataPath("tokenizer.json")));
    ASSERT_EQ(entries.size(), 92u);
    for (const auto& entry : entries) {
        const std::string text = entry["text"];
        const auto& expected = entry[GetParam().name];
        EXPECT_EQ(tokenizer->encode(text, false).ids, expected["plain"].get<std::vector<TokenId>>())
            << "plain: " << text;
        EXPECT_EQ(tokenizer->encode(text, true).ids, expected["special"].get<std::vector<TokenId>>())
            << "special: " << text;
    }
}

TEST_P(PublishedTokenizer, DecodesWhatItEncodedWhereNothingWasDropped)
{
    std::mt19937 random(7);
    int whole = 0;
    for (int round = 0; round < 400; ++round) {
        const std::string text = test::randomUtf8(random, 1 + static_cast<int>(test::below(random, 60)));
        const EncodedText encoded = tokenizer->encode(text, false);
        const std::string decoded = tokenizer->decode(encoded.ids);
        EXPECT_EQ(decoded.size() + encoded.droppedBytes, text.size());
        if (encoded.droppedBytes == 0) {
            ++whole;
            EXPECT_EQ(decoded, text);
        }
        std::string inPieces;
        for (const TokenId id : encoded.ids)
            inPieces += tokenizer->decode(id);
        EXPECT_EQ(inPieces, decoded);
    }
    EXPECT_GT(whole, 20);
}

TEST_P(PublishedTokenizer, DropsOnlyBytesThatHaveNoToken)
{
    std::string dropped;
    for (int byte = 0; byte < 256; ++byte) {
        const std::string text(1, static_cast<char>(byte));
        const EncodedText encoded = tokenizer->encode(text, false);
        if (encoded.droppedBytes == 1)
            dropped += text;
        else
            EXPECT_EQ(tokenizer->decode(encoded.ids), text) << byte;
    }
    const std::string missing = "\x04\x06\x13\x14\x16\x1D\xC0\xC1\xF1\xF2\xF5\xF6\xF7\xF8\xF9\xFA\xFB\xFC\xFD\xFE\xFF";
    EXPECT_EQ(dropped, GetParam().name == std::string("smollm2") ? missing : "");
}

TEST_P(PublishedTokenizer, KnowsItsEndsAndItsBeginning)
{
    std::set<TokenId> ends;
    for (TokenId id = 0; id < tokenizer->vocabularySize(); ++id) {
        if (tokenizer->isEndOfGeneration(id))
            ends.insert(id);
    }
    EXPECT_EQ(ends, GetParam().ends);
    EXPECT_EQ(tokenizer->bos(), GetParam().bos);
    EXPECT_EQ(tokenizer->addsBos(), GetParam().addsBos);
}

TEST_P(PublishedTokenizer, TakesLongRunsOfAnything)
{
    for (const std::string unit : {"a", " ", "\n", "<", "1", "\xFF", "ab ", "é", "\r"}) {
        std::string text;
        // A megabyte of the letter, whose merges build on one another; less of the others keeps the suite short.
        while (text.size() < (unit == "a" ? 1u << 20 : 1u << 17))
            text += unit;
        const EncodedText encoded = tokenizer->encode(text, true);
        EXPECT_EQ(tokenizer->decode(encoded.ids).size() + encoded.droppedBytes, text.size());
    }
}

TEST_P(PublishedTokenizer, DataNeverBecomesAControlToken)
{
    std::string all;
    for (TokenId id = 0; id < tokenizer->vocabularySize(); ++id) {
        if (tokenizer->isControl(id))
            all += tokenizer->tokenText(id);
    }
    const std::vector<TextSegment> segments = {{"<", false}, {all, true}, {">", false}};
    for (const auto& encoded : {tokenizer->encode(all, false), tokenizer->encodeSegments(segments)}) {
        for (const TokenId id : encoded.ids)
            ASSERT_FALSE(tokenizer->isControl(id)) << tokenizer->tokenText(id);
    }
}

INSTANTIATE_TEST_SUITE_P(Models, PublishedTokenizer,
                         testing::Values(PublishedModel{"smollm2", &test::smollm2, {0, 2}, false, 1},
                                         PublishedModel{"gemma3", &test::gemma3, {1, 106}, true, 2}),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace tokenscope
