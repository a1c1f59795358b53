#include "engine/template/unicode.h"

#include "engine/base/utf8.h"

#include <algorithm>
#include <array>
#include <clocale>
#include <cwctype>
#include <locale.h>

namespace tokenscope::jinja {
namespace {

// Null where the C library has no C.UTF-8 (it is part of glibc since 2.35): then only ASCII letters have a case.
locale_t unicodeLocale()
{
    static const locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", static_cast<locale_t>(nullptr));
    return locale;
}

struct Expansion {
    char32_t from;
    std::u32string_view to;
};
constexpr std::array<Expansion, 9> kUpperExpansions = {{{0xDF, U"SS"},
                                                        {0x149, U"\u02BCN"},
                                                        {0x1F0, U"J\u030C"},
                                                        {0xFB00, U"FF"},
                                                        {0xFB01, U"FI"},
                                                        {0xFB02, U"FL"},
                                                        {0xFB03, U"FFI"},
                                                        {0xFB04, U"FFL"},
                                                        {0x587, U"\u0535\u0552"}}};

std::string encoded(char32_t c)
{
    std::string text;
    appendUtf8(text, c);
    return text;
}

template <typename IsStripped>
Span strip(std::string_view text, bool left, bool right, const IsStripped& isStripped)
{
    const std::vector<std::size_t> starts = characterStarts(text);
    std::size_t first = 0;
    std::size_t last = starts.size() - 1;
    const auto strips = [&](std::size_t i) { return isStripped(text.substr(starts[i], starts[i + 1] - starts[i])); };
    while (left && first < last && strips(first))
        ++first;
    while (right && first < last && strips(last - 1))
        --last;
    return {starts[first], starts[last]};
}

}  // namespace

std::size_t characterCount(std::string_view text)
{
    std::size_t count = 0;
    for (std::size_t i = 0; i < text.size(); ++count)
        i += nextUtf8(text, i).bytes;
    return count;
}

std::vector<std::size_t> characterStarts(std::string_view text)
{
    std::vector<std::size_t> starts;
    starts.reserve(text.size() + 1);
    for (std::size_t i = 0; i < text.size(); i += nextUtf8(text, i).bytes)
        starts.push_back(i);
    starts.push_back(text.size());
    return starts;
}

char32_t codePointAt(std::string_view text, std::size_t byte)
{
    return nextUtf8(text, byte).codePoint;
}

bool isSpace(char32_t c)
{
    return (c >= 9 && c <= 13) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool isUpper(char32_t c)
{
    if (c < 0x80)
        return c >= 'A' && c <= 'Z';
    return unicodeLocale() && iswupper_l(static_cast<wint_t>(c), unicodeLocale());
}

bool isLower(char32_t c)
{
    if (c < 0x80)
        return c >= 'a' && c <= 'z';
    return unicodeLocale() && iswlower_l(static_cast<wint_t>(c), unicodeLocale());
}

bool isPrintable(char32_t c)
{
    if (c < 0x80)
        return c >= 0x20 && c < 0x7F;
    const bool invisible = c == 0xAD || isSpace(c) || (c >= 0x200B && c <= 0x200F) || (c >= 0x202A && c <= 0x202E) ||
                           (c >= 0x2060 && c <= 0x206F) || (c >= 0xE000 && c <= 0xF8FF) || c == 0xFEFF ||
                           (c >= 0xFFF0 && c <= 0xFFFB) || (c & 0xFFFE) == 0xFFFE || c >= 0xE0000;
    return !invisible && unicodeLocale() && iswprint_l(static_cast<wint_t>(c), unicodeLocale());
}

std::string upperOf(char32_t c)
{
    if (c < 0x80)
        return std::string(1, static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c));
    const auto expansion = std::ranges::find(kUpperExpansions, c, &Expansion::from);
    if (expansion != kUpperExpansions.end()) {
        std::string text;
        for (const char32_t to : expansion->to)
            appendUtf8(text, to);
        return text;
    }
    return encoded(unicodeLocale() ? static_cast<char32_t>(towupper_l(static_cast<wint_t>(c), unicodeLocale())) : c);
}

std::string lowerOf(char32_t c)
{
    if (c < 0x80)
        return std::string(1, static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c));
    if (c == 0x130)
        return "i\u0307";
    return encoded(unicodeLocale() ? static_cast<char32_t>(towlower_l(static_cast<wint_t>(c), unicodeLocale())) : c);
}

Span stripped(std::string_view text, bool left, bool right)
{
    return strip(text, left, right,
                 [](std::string_view character) { return isSpace(nextUtf8(character, 0).codePoint); });
}

Span strippedOf(std::string_view text, std::string_view characters, bool left, bool right)
{
    const std::vector<std::size_t> starts = characterStarts(characters);
    return strip(text, left, right, [&](std::string_view character) {
        for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
            if (characters.substr(starts[i], starts[i + 1] - starts[i]) == character)
                return true;
        }
        return false;
    });
}

}  // namespace tokenscope::jinja
