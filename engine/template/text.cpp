#include "engine/template/text.h"

#include <algorithm>

namespace tokenscope::jinja {

Text::Text(std::string bytes, bool isData) : m_bytes(std::move(bytes))
{
    if (isData && !m_bytes.empty())
        m_data.push_back({0, m_bytes.size()});
}

std::vector<Text::Range>::const_iterator Text::firstRangeEndingAfter(std::size_t byte) const
{
    return std::upper_bound(m_data.begin(), m_data.end(), byte,
                            [](std::size_t position, const Range& range) { return position < range.end; });
}

bool Text::isDataAt(std::size_t byte) const
{
    const auto range = firstRangeEndingAfter(byte);
    return range != m_data.end() && range->begin <= byte;
}

void Text::append(std::string_view bytes, bool isData)
{
    if (bytes.empty())
        return;
    const std::size_t begin = m_bytes.size();
    m_bytes += bytes;
    if (!isData)
        return;
    if (!m_data.empty() && m_data.back().end == begin)
        m_data.back().end = m_bytes.size();
    else
        m_data.push_back({begin, m_bytes.size()});
}

void Text::append(const Text& other, std::size_t begin, std::size_t end)
{
    std::size_t at = begin;
    const std::string_view bytes = other.m_bytes;
    for (auto range = other.firstRangeEndingAfter(begin); range != other.m_data.end() && range->begin < end; ++range) {
        const std::size_t dataBegin = std::max(range->begin, begin);
        const std::size_t dataEnd = std::min(range->end, end);
        append(bytes.substr(at, dataBegin - at), false);
        append(bytes.substr(dataBegin, dataEnd - dataBegin), true);
        at = dataEnd;
    }
    append(bytes.substr(at, end - at), false);
}

Text Text::slice(std::size_t begin, std::size_t end) const
{
    Text part;
    part.append(*this, begin, end);
    return part;
}

void Text::appendSegmentsTo(std::vector<TextSegment>& segments) const
{
    const auto add = [&](std::size_t begin, std::size_t end, bool isData) {
        if (begin == end)
            return;
        if (segments.empty() || segments.back().isData != isData)
            segments.push_back({"", isData});
        segments.back().text.append(m_bytes, begin, end - begin);
    };
    std::size_t at = 0;
    for (const Range& range : m_data) {
        add(at, range.begin, false);
        add(range.begin, range.end, true);
        at = range.end;
    }
    add(at, m_bytes.size(), false);
}

}  // namespace tokenscope::jinja
