#include "engine/tokenizer/special_matcher.h"

#include <algorithm>

namespace tokenscope {

SpecialMatcher::SpecialMatcher(const Vocabulary& vocabulary)
{
    constexpr std::string_view kSpaceMark = "\xE2\x96\x81";
    for (TokenId id = 0; id < vocabulary.size(); ++id) {
        // A user-defined SentencePiece token with "▁" means a space there: merging finds it, matching raw text would
        // not.
        const bool escaped =
            vocabulary.model == "llama" && vocabulary.text(id).find(kSpaceMark) != std::string_view::npos;
        const bool matched = vocabulary.isReserved(id) || (vocabulary.type(id) == TokenType::UserDefined && !escaped);
        if (matched && !vocabulary.text(id).empty())
            m_entries.push_back({vocabulary.text(id), id, vocabulary.isReserved(id)});
    }
    std::ranges::sort(m_entries, {}, &Entry::text);
    std::size_t entry = 0;
    for (std::size_t byte = 0; byte < 257; ++byte) {
        while (entry < m_entries.size() && static_cast<unsigned char>(m_entries[entry].text[0]) < byte)
            ++entry;
        m_firstByte[byte] = entry;
    }
}

// Narrows the sorted entries byte by byte: those that share the text's next `depth` bytes are neighbours, and one that
// ends there comes first among them.
std::optional<SpecialMatcher::Match> SpecialMatcher::matchAt(std::string_view text, std::size_t position,
                                                             std::size_t reservedBytes) const
{
    const unsigned char first = static_cast<unsigned char>(text[position]);
    auto low = m_entries.begin() + static_cast<std::ptrdiff_t>(m_firstByte[first]);
    auto high = m_entries.begin() + static_cast<std::ptrdiff_t>(m_firstByte[first + 1]);
    std::optional<Match> best;
    for (std::size_t depth = 1; low != high; ++depth) {
        if (low->text.size() == depth) {
            if (!low->reserved || depth <= reservedBytes)
                best = Match{low->id, depth};
            const std::string_view same = low->text;
            while (low != high && low->text == same)
                ++low;
        }
        if (position + depth >= text.size())
            break;
        const unsigned char next = static_cast<unsigned char>(text[position + depth]);
        const auto byteOf = [depth](const Entry& entry) { return static_cast<unsigned char>(entry.text[depth]); };
        const auto range = std::ranges::equal_range(low, high, next, {}, byteOf);
        low = range.begin();
        high = range.end();
    }
    return best;
}

}  // namespace tokenscope
