// Strict UTF-8 (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF).
#pragma once

#include <cstddef>
#include <string_view>

namespace tokenscope {

// Bytes of the well-formed sequence at the start of `text`; 0 if there is none.
std::size_t wellFormedUtf8Length(std::string_view text);
bool isWellFormedUtf8(std::string_view text);

}  // namespace tokenscope
