// Byte-level BPE (GPT-2 and its heirs): words of the pre-tokenizer become bytes, neighbours merge in the order the
// vocabulary was learned. R. Sennrich et al., "Neural Machine Translation of Rare Words with Subword Units", 2016.
#pragma once

#include "engine/tokenizer/pre_tokenizer.h"
#include "engine/tokenizer/vocabulary_tokenizer.h"

#include <array>

namespace tokenscope {

class BpeTokenizer : public VocabularyTokenizer {
public:
    static Result<std::shared_ptr<const Tokenizer>> create(Vocabulary vocabulary, const GgufFile& file,
                                                           std::string_view pretokenizerOverride);
    std::string description() const override;

private:
    struct Word;  // the symbols of a word being merged
    BpeTokenizer(Vocabulary vocabulary, std::unique_ptr<PreTokenizer> preTokenizer, std::string preTokenizerName);
    Result<void> loadMerges(const GgufFile& file);
    void encodePiece(std::string_view piece, bool opensText, EncodedText& out) const override;
    void encodeWord(std::string_view text, Word& word, EncodedText& out) const;
    std::string textBytes(TokenId id) const override;

    const std::unique_ptr<PreTokenizer> m_preTokenizer;
    const std::string m_preTokenizerName;
    MergeTable m_merges;
    std::array<TokenId, 256> m_byteIds{};  // -1: the vocabulary has no token for this byte
};

}  // namespace tokenscope
