// What both kinds of tokenizer share: special tokens are cut out of the text first, the rest is encoded piece by piece.
#pragma once

#include "engine/tokenizer/special_matcher.h"
#include "engine/tokenizer/tokenizer.h"
#include "engine/tokenizer/vocabulary.h"

namespace tokenscope {

class VocabularyTokenizer : public Tokenizer {
public:
    EncodedText encode(std::string_view text, bool parseSpecial) const override;
    EncodedText encodeSegments(std::span<const TextSegment> segments) const override;
    std::string decode(TokenId id, bool withSpecial) const override;
    std::string decode(std::span<const TokenId> ids, bool withSpecial) const override;
    std::string tokenText(TokenId id) const override;

    int vocabularySize() const override { return m_vocabulary.size(); }
    std::optional<TokenId> bos() const override { return m_vocabulary.bos; }
    std::optional<TokenId> eos() const override { return m_vocabulary.eos; }
    bool addsBos() const override { return m_vocabulary.bos && m_vocabulary.addBos.value_or(m_addsBosByDefault); }
    bool isEndOfGeneration(TokenId id) const override { return inRange(id) && m_vocabulary.isEndOfGeneration(id); }
    bool isControl(TokenId id) const override { return inRange(id) && m_vocabulary.isControl(id); }

protected:
    VocabularyTokenizer(Vocabulary vocabulary, bool addsBosByDefault, bool mayAddSpacePrefix);

    // Appends the tokens of a piece without special tokens. `opensText`: begins the text or follows a special token.
    virtual void encodePiece(std::string_view piece, bool opensText, EncodedText& out) const = 0;
    // The bytes of a token that is neither control nor a byte token.
    virtual std::string textBytes(TokenId id) const = 0;

    const Vocabulary& vocabulary() const { return m_vocabulary; }
    bool addsSpacePrefix() const { return m_addsSpacePrefix; }

private:
    bool inRange(TokenId id) const { return id >= 0 && id < m_vocabulary.size(); }
    // reservedBytes(position): how far reserved tokens may reach from there; asked with rising positions.
    template <typename ReservedBytes>
    EncodedText encodeWith(std::string_view text, const ReservedBytes& reservedBytes) const;

    const Vocabulary m_vocabulary;
    const SpecialMatcher m_specials;  // views into m_vocabulary
    const bool m_addsBosByDefault;
    const bool m_addsSpacePrefix;
};

}  // namespace tokenscope
