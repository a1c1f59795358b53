// SentencePiece's BPE (Llama 2, Gemma): characters merge by the score of the token they make, highest first; spaces are
// written "▁"; what no token has goes byte by byte. T. Kudo, J. Richardson, "SentencePiece", 2018.
#pragma once

#include "engine/tokenizer/vocabulary_tokenizer.h"

#include <array>

namespace tokenscope {

class SpmTokenizer : public VocabularyTokenizer {
public:
    explicit SpmTokenizer(Vocabulary vocabulary);
    std::string description() const override { return "llama"; }

private:
    struct Symbols;
    void encodePiece(std::string_view piece, bool opensText, EncodedText& out) const override;
    bool mayCutBeforeSpace(std::string_view escaped) const;
    void encodeEscaped(std::string_view escaped, Symbols& symbols, EncodedText& out) const;
    void encodeBytes(std::string_view bytes, EncodedText& out) const;
    std::string textBytes(TokenId id) const override;

    std::array<bool, 256> m_joinsSpaceMark{};  // some token holds this byte and then "▁"
};

}  // namespace tokenscope
