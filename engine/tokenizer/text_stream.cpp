#include "engine/tokenizer/text_stream.h"

#include "engine/base/utf8.h"

#include <algorithm>

namespace tokenscope {

TextStream::TextStream(std::vector<std::string> stopStrings) : m_stopStrings(std::move(stopStrings))
{
    std::erase(m_stopStrings, "");
}

// The stop that begins first wins, whatever order the bytes arrive in: where a stop has begun and not ended, everything
// from there waits, though a later and shorter one may have ended already.
TextStream::Scan TextStream::scan(bool atEnd) const
{
    const std::string_view pending = m_pending;
    if (m_stopStrings.empty())
        return {pending.size(), false};
    for (std::size_t i = 0; i < pending.size(); ++i) {
        const std::string_view tail = pending.substr(i);
        bool begun = false;
        for (const std::string& stop : m_stopStrings) {
            if (tail.starts_with(stop))
                return {i, true};
            begun = begun || std::string_view(stop).starts_with(tail);
        }
        if (begun && !atEnd)
            return {i, false};
    }
    return {pending.size(), false};
}

TextStream::Piece TextStream::push(std::string_view bytes)
{
    if (m_stopped)
        return {"", true};
    m_pending += bytes;
    const Scan found = scan(false);
    if (found.stopped)
        return {stopAfter(found.safeBytes), true};

    const std::string_view safe = std::string_view(m_pending).substr(0, found.safeBytes);
    const std::size_t unfinished = cutOffUtf8Bytes(safe);
    std::string text = replaceInvalidUtf8(safe.substr(0, safe.size() - unfinished));
    m_pending.erase(0, found.safeBytes - unfinished);
    m_emittedBytes += text.size();
    return {std::move(text), false};
}

std::string TextStream::finish()
{
    if (m_stopped)
        return "";
    const Scan found = scan(true);
    if (found.stopped)
        return stopAfter(found.safeBytes);
    std::string text = replaceInvalidUtf8(m_pending);
    m_pending.clear();
    m_emittedBytes += text.size();
    return text;
}

std::string TextStream::stopAfter(std::size_t safeBytes)
{
    std::string text = replaceInvalidUtf8(std::string_view(m_pending).substr(0, safeBytes));
    m_emittedBytes += text.size();
    m_pending.clear();
    m_stopped = true;
    return text;
}

std::size_t TextStream::textBytes() const
{
    return m_emittedBytes + m_pending.size();
}

}  // namespace tokenscope
