#include "engine/base/utf8.h"

#include <algorithm>

namespace tokenscope {

// Unicode 15, table 3-7: the range of the second byte depends on the first.
Utf8Step nextUtf8(std::string_view text, std::size_t position)
{
    const auto byteAt = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char lead = byteAt(position);
    if (lead < 0x80)
        return {lead, 1, true, false};

    std::size_t length = 0;
    unsigned char low = 0x80;
    unsigned char high = 0xBF;
    char32_t codePoint = 0;
    if (lead >= 0xC2 && lead <= 0xDF) {
        length = 2;
        codePoint = lead & 0x1F;
    } else if (lead >= 0xE0 && lead <= 0xEF) {
        length = 3;
        codePoint = lead & 0x0F;
        if (lead == 0xE0)
            low = 0xA0;
        else if (lead == 0xED)
            high = 0x9F;
    } else if (lead >= 0xF0 && lead <= 0xF4) {
        length = 4;
        codePoint = lead & 0x07;
        if (lead == 0xF0)
            low = 0x90;
        else if (lead == 0xF4)
            high = 0x8F;
    } else {
        return {0xFFFD, 1, false, false};
    }

    for (std::size_t i = 1; i < length; ++i) {
        if (position + i == text.size())
            return {0xFFFD, i, false, true};
        const unsigned char next = byteAt(position + i);
        if (next < low || next > high)
            return {0xFFFD, i, false, false};
        codePoint = (codePoint << 6) | (next & 0x3F);
        low = 0x80;
        high = 0xBF;
    }
    return {codePoint, length, true, false};
}

void appendUtf8(std::string& out, char32_t codePoint)
{
    if (codePoint < 0x80) {
        out += static_cast<char>(codePoint);
    } else if (codePoint < 0x800) {
        out += static_cast<char>(0xC0 | (codePoint >> 6));
        out += static_cast<char>(0x80 | (codePoint & 0x3F));
    } else if (codePoint < 0x10000) {
        out += static_cast<char>(0xE0 | (codePoint >> 12));
        out += static_cast<char>(0x80 | ((codePoint >> 6) & 0x3F));
        out += static_cast<char>(0x80 | (codePoint & 0x3F));
    } else {
        out += static_cast<char>(0xF0 | (codePoint >> 18));
        out += static_cast<char>(0x80 | ((codePoint >> 12) & 0x3F));
        out += static_cast<char>(0x80 | ((codePoint >> 6) & 0x3F));
        out += static_cast<char>(0x80 | (codePoint & 0x3F));
    }
}

std::string replaceInvalidUtf8(std::string_view text)
{
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size();) {
        const Utf8Step step = nextUtf8(text, i);
        if (step.valid)
            out.append(text.substr(i, step.bytes));
        else
            out += "\xEF\xBF\xBD";
        i += step.bytes;
    }
    return out;
}

std::size_t cutOffUtf8Bytes(std::string_view text)
{
    for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
        const std::size_t start = text.size() - back;
        if ((static_cast<unsigned char>(text[start]) & 0xC0) == 0x80)
            continue;  // a continuation byte: the lead is further left
        const Utf8Step step = nextUtf8(text, start);
        return step.cutOff && step.bytes == back ? back : 0;
    }
    return 0;
}

}  // namespace tokenscope
