// The little Unicode that Python's strings show in templates: characters, white space, case, what repr() escapes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tokenscope::jinja {

std::size_t characterCount(std::string_view text);  // an invalid byte sequence counts as one
// Byte position of every character, and the text's size at the end.
std::vector<std::size_t> characterStarts(std::string_view text);

char32_t codePointAt(std::string_view text, std::size_t byte);  // U+FFFD where invalid

bool isSpace(char32_t c);  // str.isspace()
bool isUpper(char32_t c);
bool isLower(char32_t c);
bool isPrintable(char32_t c);  // str.isprintable(): repr() shows it as it is

// Simple case mapping of the C library's C.UTF-8, and the one-to-many cases of European letters (ß → SS).
std::string upperOf(char32_t c);
std::string lowerOf(char32_t c);

// Bytes without white space at either end: [begin, end).
struct Span {
    std::size_t begin = 0;
    std::size_t end = 0;
};
Span stripped(std::string_view text, bool left, bool right);
// The same for any of `characters`.
Span strippedOf(std::string_view text, std::string_view characters, bool left, bool right);

}  // namespace tokenscope::jinja
