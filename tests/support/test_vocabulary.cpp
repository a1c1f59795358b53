#include "tests/support/test_vocabulary.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace tokenscope::test {
namespace {

// tokenizer.ggml.token_type
enum TokenType : std::int32_t { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6 };

struct Vocabulary {
    std::vector<std::string> tokens;
    std::vector<std::int32_t> types;
    std::vector<float> scores;

    void add(std::string token, TokenType type, float score = 0.0f)
    {
        tokens.push_back(std::move(token));
        types.push_back(type);
        scores.push_back(score);
    }

    void fillUpTo(int count)
    {
        while (static_cast<int>(tokens.size()) < count)
            add(fmt::format("<|filler_{}|>", tokens.size()), kUnused, -1e6f);
    }
};

std::string utf8(unsigned codePoint)
{
    if (codePoint < 0x80)
        return {static_cast<char>(codePoint)};
    return {static_cast<char>(0xC0 | (codePoint >> 6)), static_cast<char>(0x80 | (codePoint & 0x3F))};
}

bool standsForItself(unsigned byte)
{
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

void writeBytePair(GgufWriter& writer, Vocabulary& vocabulary, const TestModelSpec& spec)
{
    for (const char* special : {"<|endoftext|>", "<|im_start|>", "<|im_end|>"})
        vocabulary.add(special, kControl);
    for (unsigned byte = 0; byte < 256; ++byte)
        vocabulary.add(gpt2Character(static_cast<unsigned char>(byte)), kNormal);
    const std::string space = gpt2Character(' ');
    const std::vector<std::pair<std::string, std::string>> pairs{
        {space, "t"}, {"h", "e"}, {space, "a"},        {"i", "n"},         {"e", "r"},          {"o", "n"},
        {"a", "n"},   {"r", "e"}, {space + "t", "he"}, {"l", "l"},         {"ll", "o"},         {"he", "llo"},
        {space, "w"}, {"o", "r"}, {space + "w", "or"}, {space + "a", "n"}, {space + "an", "d"}, {"in", "g"},
    };
    std::vector<std::string> merges;
    for (const auto& [left, right] : pairs) {
        merges.push_back(left + " " + right);
        vocabulary.add(left + right, kNormal);
    }
    vocabulary.fillUpTo(spec.vocabularySize);
    writer.setString("tokenizer.ggml.model", "gpt2");
    writer.setString("tokenizer.ggml.pre", spec.pretokenizer);
    writer.setStrings("tokenizer.ggml.tokens", vocabulary.tokens);
    writer.setInt32s("tokenizer.ggml.token_type", vocabulary.types);
    writer.setStrings("tokenizer.ggml.merges", merges);
    writer.setUint32("tokenizer.ggml.bos_token_id", 1);
    writer.setUint32("tokenizer.ggml.eos_token_id", 2);
    writer.setBool("tokenizer.ggml.add_bos_token", false);
}

void writeSentencePiece(GgufWriter& writer, Vocabulary& vocabulary, const TestModelSpec& spec)
{
    for (const char* special : {"<pad>", "<eos>", "<bos>"})
        vocabulary.add(special, kControl);
    vocabulary.add("<unk>", kUnknown);
    vocabulary.add("<start_of_turn>", kControl);
    vocabulary.add("<end_of_turn>", kControl);
    for (unsigned byte = 0; byte < 256; ++byte)
        vocabulary.add(fmt::format("<0x{:02X}>", byte), kByte);
    const std::string space = "\xE2\x96\x81";  // U+2581, stands for a space
    std::vector<std::string> pieces{space + "t",   "he",        space + "the", space + "a",  "in",          "er",
                                    "on",          "an",        "re",          "ll",         "llo",         "hello",
                                    "or",          space + "w", space + "wor", space + "an", space + "and", "ing",
                                    space + space, "\n\n",      space};
    for (char letter = 'a'; letter <= 'z'; ++letter)
        pieces.emplace_back(1, letter);
    for (const char* other : {"A", "B", "T", "H", "W", ".", ",", "!", "?", "\n", "0", "1", "é", "中"})
        pieces.emplace_back(other);
    for (std::size_t rank = 0; rank < pieces.size(); ++rank)
        vocabulary.add(pieces[rank], kNormal, -static_cast<float>(rank));
    vocabulary.fillUpTo(spec.vocabularySize);
    writer.setString("tokenizer.ggml.model", "llama");
    writer.setString("tokenizer.ggml.pre", "default");
    writer.setStrings("tokenizer.ggml.tokens", vocabulary.tokens);
    writer.setFloats("tokenizer.ggml.scores", vocabulary.scores);
    writer.setInt32s("tokenizer.ggml.token_type", vocabulary.types);
    writer.setUint32("tokenizer.ggml.bos_token_id", 2);
    writer.setUint32("tokenizer.ggml.eos_token_id", 1);
    writer.setUint32("tokenizer.ggml.unknown_token_id", 3);
    writer.setBool("tokenizer.ggml.add_bos_token", true);
    writer.setBool("tokenizer.ggml.add_space_prefix", false);
}

}  // namespace

std::string gpt2Character(unsigned char byte)
{
    if (standsForItself(byte))
        return utf8(byte);
    unsigned shifted = 256;
    for (unsigned other = 0; other < byte; ++other)
        if (!standsForItself(other))
            ++shifted;
    return utf8(shifted);
}

int writeVocabulary(GgufWriter& writer, const TestModelSpec& spec)
{
    Vocabulary vocabulary;
    if (spec.vocabulary == TestVocabulary::BytePair)
        writeBytePair(writer, vocabulary, spec);
    else
        writeSentencePiece(writer, vocabulary, spec);
    return static_cast<int>(vocabulary.tokens.size());
}

}  // namespace tokenscope::test
