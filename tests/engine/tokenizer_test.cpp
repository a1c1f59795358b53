#include "engine/tokenizer/pre_tokenizer.h"
#include "engine/tokenizer/tokenizer.h"
#include "tests/support/random_text.h"
#include "tests/support/tiny_vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

namespace tokenscope {
namespace {

using test::tinyBpe;
using test::tinySpm;
using test::TinyToken;
using test::tokensOnly;
using testing::ElementsAre;
using testing::HasSubstr;

std::shared_ptr<const Tokenizer> made(const GgufFile& file, std::string_view preTokenizer = "")
{
    auto tokenizer = Tokenizer::create(file, preTokenizer);
    if (!tokenizer)
        throw std::runtime_error(tokenizer.error().message);
    return *tokenizer;
}

Error refused(const GgufFile& file, std::string_view preTokenizer = "")
{
    auto tokenizer = Tokenizer::create(file, preTokenizer);
    return tokenizer ? Error{} : tokenizer.error();
}

std::vector<std::string> pieces(const Tokenizer& tokenizer, const EncodedText& encoded)
{
    std::vector<std::string> texts;
    for (const TokenId id : encoded.ids)
        texts.push_back(tokenizer.decode(id, true));
    return texts;
}

std::vector<std::string> words(const char* preTokenizer, std::string_view text)
{
    const auto splitter = PreTokenizer::create(preTokenizer);
    std::vector<std::string> result;
    for (const std::string_view word : (*splitter)->split(text))
        result.emplace_back(word);
    return result;
}

TEST(PreTokenizer, Gpt2KeepsNumbersTogetherAndTheLastSpaceWithTheWord)
{
    EXPECT_THAT(words("gpt-2", "I'll be  100% x"), ElementsAre("I", "'ll", " be", " ", " 100", "%", " x"));
    EXPECT_EQ(words("default", "a 12"), words("gpt-2", "a 12"));
}

TEST(PreTokenizer, SmollmCutsEveryDigitFirst)
{
    EXPECT_THAT(words("smollm", "x  12y"), ElementsAre("x", "  ", "1", "2", "y"));
}

TEST(PreTokenizer, LlamaGroupsThreeDigitsAndIgnoresCaseInContractions)
{
    EXPECT_THAT(words("llama-bpe", "I'LL 12345 a\n\n b"),
                ElementsAre("I", "'LL", " ", "123", "45", " a", "\n\n", " b"));
    EXPECT_THAT(words("llama-bpe", "(word) !\n\nx"), ElementsAre("(word", ")", " !\n\n", "x"));
}

TEST(PreTokenizer, Qwen2CutsSingleDigits)
{
    EXPECT_THAT(words("qwen2", "v12 \n  x"), ElementsAre("v", "1", "2", " \n", " ", " x"));
}

TEST(PreTokenizer, WhiteSpaceIsUnicodesAndNotMore)
{
    // U+0085, U+00A0, U+3000 are spaces; U+180E and U+200B are not.
    EXPECT_THAT(words("gpt-2", "a\u00A0\u3000\u0085"), ElementsAre("a", "\u00A0\u3000\u0085"));
    EXPECT_THAT(words("gpt-2", "\u180E\u200B"), ElementsAre("\u180E\u200B"));
}

TEST(PreTokenizer, WordsTogetherAreTheText)
{
    std::mt19937 random(3);
    for (int round = 0; round < 300; ++round) {
        std::string text = test::randomUtf8(random, 40);
        if (round % 3 == 0)
            text[test::below(random, static_cast<std::uint32_t>(text.size()))] = '\xFE';
        for (const char* name : {"smollm", "gpt-2", "llama-bpe", "qwen2"}) {
            std::string joined;
            for (const std::string& word : words(name, text)) {
                EXPECT_FALSE(word.empty());
                joined += word;
            }
            EXPECT_EQ(joined, text) << name;
        }
    }
}

TEST(PreTokenizer, CutsMegabyteRunsIntoWords)
{
    for (const char* name : {"smollm", "gpt-2", "llama-bpe", "qwen2"}) {
        for (const std::string unit : {"a", " ", "!", " \n", "\u3000"}) {
            std::string text;
            while (text.size() < (1u << 20))
                text += unit;
            text += "x";
            const auto splitter = PreTokenizer::create(name);
            std::size_t bytes = 0;
            for (const std::string_view word : (*splitter)->split(text))
                bytes += word.size();
            EXPECT_EQ(bytes, text.size());
        }
    }
}

TEST(BpeTokenizer, MergesByRankNotByPosition)
{
    const auto tokenizer = made(tinyBpe({{"bc"}, {"ab"}, {"abc"}}, {"b c", "a b", "ab c"}));
    EXPECT_THAT(pieces(*tokenizer, tokenizer->encode("abc", false)), ElementsAre("a", "bc"));
    EXPECT_THAT(pieces(*tokenizer, tokenizer->encode("abd", false)), ElementsAre("ab", "d"));
}

TEST(BpeTokenizer, EqualPairsMergeFromTheLeft)
{
    const auto tokenizer = made(tinyBpe({{"aa"}}, {"a a"}));
    EXPECT_THAT(pieces(*tokenizer, tokenizer->encode("aaaaa", false)), ElementsAre("aa", "aa", "a"));
}

// The textbook algorithm: again and again the best pair of the whole word, every occurrence from the left.
std::vector<std::string> slowMerge(std::vector<std::string> symbols, const std::vector<std::string>& merges)
{
    for (;;) {
        std::size_t best = merges.size();
        for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
            const auto found = std::find(merges.begin(), merges.end(), symbols[i] + " " + symbols[i + 1]);
            best = std::min(best, static_cast<std::size_t>(found - merges.begin()));
        }
        if (best == merges.size())
            return symbols;
        for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
            if (symbols[i] + " " + symbols[i + 1] == merges[best]) {
                symbols[i] += symbols[i + 1];
                symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(i) + 1);
            }
        }
    }
}

TEST(BpeTokenizer, AgreesWithTheTextbookOnRandomMerges)
{
    std::mt19937 random(11);
    for (int round = 0; round < 60; ++round) {
        std::vector<std::string> parts = {"a", "b", "c"};
        std::vector<std::string> merges;
        std::vector<TinyToken> more;
        while (merges.size() < 25) {
            const std::string left = parts[test::below(random, static_cast<std::uint32_t>(parts.size()))];
            const std::string right = parts[test::below(random, static_cast<std::uint32_t>(parts.size()))];
            if (left.size() + right.size() > 12 || std::count(parts.begin(), parts.end(), left + right))
                continue;
            merges.push_back(left + " " + right);
            parts.push_back(left + right);
            more.push_back({left + right});
        }
        const auto tokenizer = made(tinyBpe(more, merges));
        std::string text;
        std::vector<std::string> letters;
        for (int i = 0; i < 50; ++i) {
            letters.emplace_back(1, static_cast<char>('a' + test::below(random, 3)));
            text += letters.back();
        }
        EXPECT_EQ(pieces(*tokenizer, tokenizer->encode(text, false)), slowMerge(letters, merges)) << text;
    }
}

TEST(BpeTokenizer, LlamaTakesAWholeWordThoughNoMergeLeadsThere)
{
    const auto file = tinyBpe({{"Ġxyz"}}, {}, "llama-bpe");
    EXPECT_THAT(pieces(*made(file), made(file)->encode("a xyz", false)), ElementsAre("a", " xyz"));
    EXPECT_EQ(made(file, "gpt-2")->encode("a xyz", false).ids.size(), 5u);
}

TEST(BpeTokenizer, CountsBytesTheVocabularyLacks)
{
    auto file = tokensOnly("gpt2", {{"a"}, {"b"}});
    file.metadata["tokenizer.ggml.pre"] = "gpt-2";
    const auto encoded = made(file)->encode("abcé", false);
    EXPECT_THAT(encoded.ids, ElementsAre(0, 1));
    EXPECT_EQ(encoded.droppedBytes, 3u);
}

TEST(BpeTokenizer, UnknownPreTokenizerIsRefusedByNameWithTheWayOut)
{
    const Error error = refused(tinyBpe({}, {}, "tekken"));
    EXPECT_EQ(error.code, ErrorCode::UnsupportedModel);
    EXPECT_THAT(error.message,
                testing::AllOf(HasSubstr("\"tekken\""), HasSubstr("--pretokenizer"), HasSubstr("qwen2")));
    EXPECT_EQ(made(tinyBpe({}, {}, "tekken"), "qwen2")->description(), "gpt2 / qwen2");
    EXPECT_EQ(refused(tinyBpe({}, {}), "nonsense").code, ErrorCode::BadSetting);
}

TEST(SpecialTokens, LongestWinsAndOnlyWhenParsed)
{
    const auto tokenizer = made(tinyBpe({{"<|a|>", 3}, {"<|a|><|b|>", 3}, {"<user>", 4}}, {}));
    EXPECT_THAT(pieces(*tokenizer, tokenizer->encode("<|a|><|b|><|a|>x", true)),
                ElementsAre("<|a|><|b|>", "<|a|>", "x"));
    EXPECT_EQ(tokenizer->encode("<|a|>", false).ids.size(), 5u);
    // User-defined tokens are text that was given a token of its own: they count in plain text too.
    EXPECT_THAT(pieces(*tokenizer, tokenizer->encode("a<user>", false)), ElementsAre("a", "<user>"));
    EXPECT_EQ(tokenizer->decode(tokenizer->encode("<|a|>x", true).ids), "x");
    EXPECT_EQ(tokenizer->decode(tokenizer->encode("<|a|>x", true).ids, true), "<|a|>x");
}

TEST(SpecialTokens, CountOnlyWhereTheyLieWhollyInTemplateText)
{
    const auto tokenizer = made(tinyBpe({{"<|a|>", 3}, {"ab"}}, {"a b"}));
    const TokenId special = tokenizer->encode("<|a|>", true).ids.at(0);
    const auto count = [&](const std::vector<TextSegment>& segments) {
        const auto ids = tokenizer->encodeSegments(segments).ids;
        return std::count(ids.begin(), ids.end(), special);
    };
    EXPECT_EQ(count({{"<|a|>", false}, {"<|a|>", true}, {"<|a|>", false}}), 2);
    EXPECT_EQ(count({{"<|", false}, {"a", true}, {"|>", false}}), 0);
    EXPECT_EQ(count({{"<|a", false}, {"|>", true}}), 0);
    EXPECT_EQ(count({{"<|a", false}, {"", true}, {"|>", false}}), 1);
    EXPECT_EQ(count({{"<|a|>", true}}), 0);
    EXPECT_EQ(count({}), 0);
    // Between special tokens template and data are one piece: "a" + "b" merge.
    const auto encoded = tokenizer->encodeSegments(std::vector<TextSegment>{{"<|a|>a", false}, {"b", true}});
    EXPECT_THAT(pieces(*tokenizer, encoded), ElementsAre("<|a|>", "ab"));
}

TEST(SpecialTokens, AShorterOneCountsWhereTheLongerWouldTouchData)
{
    const auto tokenizer = made(tinyBpe({{"<|a|>", 3}, {"<|a|>b", 3}}, {}));
    const auto encoded = tokenizer->encodeSegments(std::vector<TextSegment>{{"<|a|>", false}, {"b", true}});
    EXPECT_THAT(pieces(*tokenizer, encoded), ElementsAre("<|a|>", "b"));
}

TEST(SpmTokenizer, MergesByScoreAndFallsBackToBytes)
{
    const auto tokenizer =
        made(tinySpm({{"a", 1, -9}, {"b", 1, -9}, {"c", 1, -9}, {"ab", 1, -5}, {"bc", 1, -2}}, false));
    EXPECT_THAT(pieces(*tokenizer, tokenizer->encode("abc", false)), ElementsAre("a", "bc"));
    EXPECT_THAT(pieces(*tokenizer, tokenizer->encode("aé", false)), ElementsAre("a", "\xC3", "\xA9"));
}

TEST(SpmTokenizer, AgreesWithTheTextbookOnRandomScores)
{
    std::mt19937 random(13);
    for (int round = 0; round < 60; ++round) {
        // The textbook again: of all neighbours the pair with the best token, the leftmost of equals.
        std::map<std::string, double> scores = {{"a", -99}, {"b", -99}, {"▁", -99}};
        const std::vector<std::string> letters = {"a", "b", "▁"};
        std::vector<TinyToken> more = {{"a", 1, -99}, {"b", 1, -99}};
        for (int i = 0; i < 14; ++i) {
            std::string text;
            for (std::uint32_t k = 0; k < 2 + test::below(random, 3); ++k)
                text += letters[test::below(random, 3)];
            const double score = -static_cast<double>(test::below(random, 9));
            if (scores.emplace(text, score).second)
                more.push_back({text, 1, score});
        }
        const auto tokenizer = made(tinySpm(more, false));
        std::string text;
        std::vector<std::string> symbols;
        for (int i = 0; i < 40; ++i) {
            symbols.push_back(letters[test::below(random, 3)]);
            text += symbols.back() == "▁" ? " " : symbols.back();
        }
        for (;;) {
            std::size_t best = symbols.size();
            for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
                const auto found = scores.find(symbols[i] + symbols[i + 1]);
                if (found != scores.end() &&
                    (best == symbols.size() || found->second > scores[symbols[best] + symbols[best + 1]]))
                    best = i;
            }
            if (best == symbols.size())
                break;
            symbols[best] += symbols[best + 1];
            symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
        }
        std::vector<std::string> texts;
        for (const TokenId id : tokenizer->encode(text, false).ids)
            texts.push_back(tokenizer->tokenText(id));
        EXPECT_EQ(texts, symbols) << text;
    }
}

TEST(SpmTokenizer, AddedSpaceComesAndGoes)
{
    const auto with = made(tinySpm({{"a"}, {"▁a", 1, -1}}, true));
    EXPECT_THAT(pieces(*with, with->encode("a", false)), ElementsAre(" a"));
    EXPECT_EQ(with->decode(with->encode("a", false).ids), "a");
    EXPECT_EQ(with->decode(with->encode(" a", false).ids), " a");
    EXPECT_EQ(with->decode(with->encode("a</s>a", true).ids, true), "a</s>a");
    const auto without = made(tinySpm({{"a"}, {"▁a", 1, -1}}, false));
    EXPECT_THAT(pieces(*without, without->encode("a", false)), ElementsAre("a"));
}

TEST(SpmTokenizer, ATypedSpaceMarkStaysOne)
{
    for (const bool addSpacePrefix : {false, true}) {
        const auto tokenizer = made(tinySpm({{"a"}, {"  ", 4}, {"▁▁▁", 4}}, addSpacePrefix));
        for (const std::string text : {"▁", "a▁a", " ▁ ", "▁▁▁▁", "   a    a ", ""})
            EXPECT_EQ(tokenizer->decode(tokenizer->encode(text, false).ids), text);
    }
}

TEST(SpmTokenizer, DecodesAnyBytesItEncoded)
{
    std::mt19937 random(5);
    for (const bool addSpacePrefix : {false, true}) {
        const auto tokenizer = made(
            tinySpm({{"a"}, {"▁a", 1, -1}, {"  ", 4}, {"\n", 4}, {"é"}, {"<0x41", 1}, {"<0x", 1}}, addSpacePrefix));
        for (int round = 0; round < 300; ++round) {
            std::string text = test::randomUtf8(random, 30);
            if (round % 2)
                text[0] = static_cast<char>(random());
            const auto encoded = tokenizer->encode(text, false);
            EXPECT_EQ(encoded.droppedBytes, 0u);
            EXPECT_EQ(tokenizer->decode(encoded.ids), text);
        }
    }
}

TEST(SpmTokenizer, AddsBosUnlessTheFileSaysNo)
{
    auto file = tinySpm({}, false);
    EXPECT_TRUE(made(file)->addsBos());
    file.metadata["tokenizer.ggml.add_bos_token"] = false;
    EXPECT_FALSE(made(file)->addsBos());
    file.metadata.erase("tokenizer.ggml.bos_token_id");
    file.metadata["tokenizer.ggml.add_bos_token"] = true;
    EXPECT_FALSE(made(file)->addsBos());  // absent is absent
    EXPECT_FALSE(made(tinyBpe({}, {}))->addsBos());
}

TEST(Vocabulary, EndsAreNamedByIdOrByWellKnownText)
{
    auto file = tinyBpe({{"<|im_end|>", 3}, {"<|eot_id|>", 1}, {"</s>", 4}, {"last", 1}}, {});
    file.metadata["tokenizer.ggml.eot_token_id"] = std::uint64_t{259};
    const auto tokenizer = made(file);
    EXPECT_TRUE(tokenizer->isEndOfGeneration(256));
    EXPECT_TRUE(tokenizer->isEndOfGeneration(257));
    EXPECT_FALSE(tokenizer->isEndOfGeneration(258));  // struck-out text of HTML
    EXPECT_TRUE(tokenizer->isEndOfGeneration(259));
    EXPECT_FALSE(tokenizer->isEndOfGeneration(-1));
    EXPECT_FALSE(tokenizer->isEndOfGeneration(260));
    EXPECT_EQ(tokenizer->decode(-1), "");
    EXPECT_EQ(tokenizer->decode(1 << 30), "");
}

TEST(Vocabulary, OldFilesWithoutTypesStillHaveBytesAndControlTokens)
{
    auto file = tinySpm({}, false);
    file.metadata.erase("tokenizer.ggml.token_type");
    const auto tokenizer = made(file);
    EXPECT_TRUE(tokenizer->isControl(1));
    EXPECT_EQ(tokenizer->decode(tokenizer->encode("é", false).ids), "é");
}

struct Damage {
    const char* key;
    GgufValue value;
    const char* sentence;
};

TEST(Vocabulary, DamageIsRefusedWithASentence)
{
    using Numbers = std::vector<std::int64_t>;
    using Scores = std::vector<double>;
    using Texts = std::vector<std::string>;
    const std::vector<Damage> spm = {
        {"tokenizer.ggml.scores", GgufArray{Scores{1, 2}}, "2 entries for 260 tokens"},
        {"tokenizer.ggml.scores", GgufArray{Scores(260, std::nan(""))}, "not a number"},
        {"tokenizer.ggml.token_type", GgufArray{Numbers{1, 1, 1}}, "3 entries for 260 tokens"},
        {"tokenizer.ggml.token_type", GgufArray{Numbers(260, 7)}, "allowed are 0 … 6"},
        {"tokenizer.ggml.token_type", GgufArray{Numbers(260, -1)}, "allowed are 0 … 6"},
        {"tokenizer.ggml.token_type", GgufArray{Numbers(260, 6)}, "expected <0x00> … <0xFF>"},
        {"tokenizer.ggml.tokens", GgufArray{Texts{}}, "0 entries"},
        {"tokenizer.ggml.tokens", std::uint64_t{3}, "tokenizer.ggml.tokens"},
        {"tokenizer.ggml.tokens", GgufArray{Texts(260, std::string(70'000, 'x'))},
         "70000 bytes long, the limit is 65536"},
        {"tokenizer.ggml.bos_token_id", std::uint64_t{260}, "is 260, but the vocabulary has 260 tokens"},
        {"tokenizer.ggml.eos_token_id", std::uint64_t{1} << 40, "but the vocabulary has 260 tokens"},
        {"tokenizer.ggml.eot_token_id", std::int64_t{-1}, "tokenizer.ggml.eot_token_id"},
        {"tokenizer.ggml.model", std::uint64_t{1}, "tokenizer.ggml.model"},
        {"tokenizer.ggml.add_bos_token", std::string("yes"), "tokenizer.ggml.add_bos_token"},
    };
    for (const Damage& damage : spm) {
        auto file = tinySpm({}, false);
        file.metadata[damage.key] = damage.value;
        const Error error = refused(file);
        EXPECT_EQ(error.code, ErrorCode::BadFile) << damage.key;
        EXPECT_THAT(error.message, HasSubstr(damage.sentence));
    }
    const std::vector<Damage> bpe = {
        {"tokenizer.ggml.merges", GgufArray{Texts{"a"}}, "entry 0 is not two parts"},
        {"tokenizer.ggml.merges", GgufArray{Texts{""}}, "entry 0 is not two parts"},
        {"tokenizer.ggml.merges", GgufArray{Texts{" a"}}, "entry 0 is not two parts"},
        {"tokenizer.ggml.merges", GgufArray{Texts{"a "}}, "entry 0 is not two parts"},
        {"tokenizer.ggml.merges", GgufArray{Texts{"a b"}}, "entry 0 names a part or a result"},
        {"tokenizer.ggml.merges", std::string("a b"), "not an array of strings"},
    };
    for (const Damage& damage : bpe) {
        auto file = tinyBpe({}, {});
        file.metadata[damage.key] = damage.value;
        const Error error = refused(file);
        EXPECT_EQ(error.code, ErrorCode::BadFile) << damage.key;
        EXPECT_THAT(error.message, HasSubstr(damage.sentence));
    }
}

TEST(Vocabulary, ByteTokensMustBeBytes)
{
    for (const char* text : {"<0x-1>", "<0x100>", "<0x4>", "<0xG1>", "", "0x41"}) {
        const Error error = refused(tokensOnly("llama", {{text, 6}}));
        EXPECT_EQ(error.code, ErrorCode::BadFile) << text;
        EXPECT_THAT(error.message, HasSubstr("byte token 0"));
    }
}

TEST(Vocabulary, OtherTokenizersAreRefusedByName)
{
    auto file = tinySpm({}, false);
    file.metadata["tokenizer.ggml.model"] = std::string("bert");
    const Error error = refused(file);
    EXPECT_EQ(error.code, ErrorCode::UnsupportedModel);
    EXPECT_THAT(error.message, HasSubstr("\"bert\""));
    EXPECT_EQ(refused(tinySpm({}, false), "qwen2").code, ErrorCode::BadSetting);
    GgufFile none;
    none.path = "none.gguf";
    EXPECT_EQ(refused(none).code, ErrorCode::BadFile);
}

}  // namespace
}  // namespace tokenscope
