#include "ui/models/token_ranges.h"

#include <algorithm>

namespace tokenscope::ui {
namespace {

// Walks the text once: byte offsets come in rising order but for the end of one token and the begin of the next.
class PositionReader {
public:
    explicit PositionReader(std::string_view utf8) : m_text(utf8) {}

    // UTF-16 position of the character that holds `byte` (its start), or of the one after it.
    int floor(std::size_t byte) { return advance(byte, false); }
    int ceil(std::size_t byte) { return advance(byte, true); }

private:
    struct Place {
        std::size_t byte = 0;
        int position = 0;
    };

    int advance(std::size_t byte, bool upwards)
    {
        byte = std::min(byte, m_text.size());
        if (byte < m_place.byte)
            m_place = m_before;
        if (byte < m_place.byte)
            m_place = {};
        while (m_place.byte < byte) {
            const auto lead = static_cast<unsigned char>(m_text[m_place.byte]);
            const std::size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
            const Place next{std::min(m_place.byte + length, m_text.size()), m_place.position + (length == 4 ? 2 : 1)};
            if (next.byte > byte)
                return upwards ? next.position : m_place.position;
            m_before = m_place;
            m_place = next;
        }
        return m_place.position;
    }

    std::string_view m_text;
    Place m_place, m_before;
};

}  // namespace

TokenRanges::TokenRanges(std::string_view utf8, std::span<const TokenStamp> tokens)
{
    PositionReader reader(utf8);
    m_ranges.reserve(tokens.size());
    int lowest = 0;
    for (const TokenStamp& token : tokens) {
        const int begin = std::max(lowest, reader.floor(token.textBegin));
        const int end = token.textEnd > token.textBegin ? reader.ceil(token.textEnd) : begin;
        m_ranges.push_back({begin, std::max(begin, end)});
        lowest = begin;
    }
}

std::optional<int> TokenRanges::tokenAt(int position) const
{
    auto after = std::upper_bound(m_ranges.begin(), m_ranges.end(), position,
                                  [](int value, const TextRange& range) { return value < range.begin; });
    // Empty ranges may share a begin with the token that has the text.
    while (after != m_ranges.begin()) {
        --after;
        if (position < after->end)
            return static_cast<int>(after - m_ranges.begin());
        if (!after->empty())
            break;
    }
    return std::nullopt;
}

}  // namespace tokenscope::ui
