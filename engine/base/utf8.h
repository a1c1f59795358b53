// Steps through bytes that may or may not be UTF-8. Overlong forms, surrogates and what lies beyond U+10FFFF are
// invalid.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tokenscope {

struct Utf8Step {
    char32_t codePoint = 0xFFFD;  // U+FFFD where invalid
    std::size_t bytes = 0;        // to advance; of an invalid sequence its longest beginning that could have been valid
    bool valid = false;
    bool cutOff = false;  // invalid only because the text ends here
};

Utf8Step nextUtf8(std::string_view text, std::size_t position);
void appendUtf8(std::string& out, char32_t codePoint);

// Every invalid sequence becomes one U+FFFD.
std::string replaceInvalidUtf8(std::string_view text);
// Bytes at the end that begin a character and do not finish it: 0 … 3.
std::size_t cutOffUtf8Bytes(std::string_view text);

}  // namespace tokenscope
