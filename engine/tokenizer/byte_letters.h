// GPT-2's way to write any byte as a printable character, so that a vocabulary is text: bytes that print in Latin-1
// stand for themselves, the other 68 for U+0100 … U+0143 in order (a space is "Ġ", a line feed "Ċ").
#pragma once

#include <optional>

namespace tokenscope {

char32_t letterOfByte(unsigned char byte);
std::optional<unsigned char> byteOfLetter(char32_t letter);

}  // namespace tokenscope
