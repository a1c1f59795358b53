#include "engine/tokenizer/byte_letters.h"

#include <array>
#include <cstddef>

namespace tokenscope {
namespace {

struct Letters {
    std::array<char32_t, 256> ofByte{};
    std::array<int, 0x144> byteOf{};  // -1: no byte is written so
};

const Letters& letters()
{
    static const Letters table = [] {
        Letters made;
        made.byteOf.fill(-1);
        char32_t next = 0x100;
        for (unsigned byte = 0; byte < 256; ++byte) {
            const bool prints = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
            const char32_t letter = prints ? byte : next++;
            made.ofByte[byte] = letter;
            made.byteOf[letter] = static_cast<int>(byte);
        }
        return made;
    }();
    return table;
}

}  // namespace

char32_t letterOfByte(unsigned char byte)
{
    return letters().ofByte[byte];
}

std::optional<unsigned char> byteOfLetter(char32_t letter)
{
    if (letter >= letters().byteOf.size() || letters().byteOf[static_cast<std::size_t>(letter)] < 0)
        return std::nullopt;
    return static_cast<unsigned char>(letters().byteOf[static_cast<std::size_t>(letter)]);
}

}  // namespace tokenscope
