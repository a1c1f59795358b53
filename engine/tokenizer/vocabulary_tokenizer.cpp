#include "engine/tokenizer/vocabulary_tokenizer.h"

namespace tokenscope {

VocabularyTokenizer::VocabularyTokenizer(Vocabulary vocabulary, bool addsBosByDefault, bool mayAddSpacePrefix)
    : m_vocabulary(std::move(vocabulary)), m_specials(m_vocabulary), m_addsBosByDefault(addsBosByDefault),
      m_addsSpacePrefix(mayAddSpacePrefix && m_vocabulary.addSpacePrefix.value_or(true))
{
}

template <typename ReservedBytes>
EncodedText VocabularyTokenizer::encodeWith(std::string_view text, const ReservedBytes& reservedBytes) const
{
    EncodedText out;
    std::size_t pieceStart = 0;
    bool opensText = true;
    const auto finishPiece = [&](std::size_t end) {
        if (end > pieceStart)
            encodePiece(text.substr(pieceStart, end - pieceStart), opensText, out);
    };
    for (std::size_t i = 0; i < text.size();) {
        const auto match = m_specials.matchAt(text, i, reservedBytes(i));
        if (!match) {
            ++i;
            continue;
        }
        finishPiece(i);
        out.ids.push_back(match->id);
        i += match->bytes;
        pieceStart = i;
        opensText = true;
    }
    finishPiece(text.size());
    return out;
}

EncodedText VocabularyTokenizer::encode(std::string_view text, bool parseSpecial) const
{
    return encodeWith(text, [&](std::size_t position) { return parseSpecial ? text.size() - position : 0; });
}

EncodedText VocabularyTokenizer::encodeSegments(std::span<const TextSegment> segments) const
{
    std::string text;
    struct Run {
        std::size_t end = 0;
        bool isData = false;
    };
    std::vector<Run> runs;  // neighbours of the same kind joined
    for (const TextSegment& segment : segments) {
        if (segment.text.empty())
            continue;
        text += segment.text;
        if (!runs.empty() && runs.back().isData == segment.isData)
            runs.back().end = text.size();
        else
            runs.push_back({text.size(), segment.isData});
    }
    std::size_t run = 0;
    return encodeWith(text, [&](std::size_t position) {
        while (runs[run].end <= position)
            ++run;
        return runs[run].isData ? 0 : runs[run].end - position;
    });
}

std::string VocabularyTokenizer::decode(TokenId id, bool withSpecial) const
{
    if (!inRange(id))
        return "";
    if (m_vocabulary.isControl(id))
        return withSpecial ? std::string(m_vocabulary.text(id)) : "";
    if (m_vocabulary.type(id) == TokenType::Byte)
        return std::string(1, static_cast<char>(m_vocabulary.byteOf(id)));
    return textBytes(id);
}

std::string VocabularyTokenizer::decode(std::span<const TokenId> ids, bool withSpecial) const
{
    std::string text;
    bool opensText = true;
    for (const TokenId id : ids) {
        const std::string bytes = decode(id, withSpecial);
        const bool isSpecial = isControl(id) || (inRange(id) && m_vocabulary.type(id) == TokenType::UserDefined);
        const bool added = m_addsSpacePrefix && opensText && !isSpecial && bytes.starts_with(' ');
        text.append(bytes, added ? 1 : 0);
        opensText = isSpecial || (opensText && bytes.empty());
    }
    return text;
}

std::string VocabularyTokenizer::tokenText(TokenId id) const
{
    return inRange(id) ? std::string(m_vocabulary.text(id)) : "";
}

}  // namespace tokenscope
