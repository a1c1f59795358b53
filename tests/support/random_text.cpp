#include "tests/support/random_text.h"

#include "engine/base/utf8.h"

#include <array>

namespace tokenscope::test {

std::string randomUtf8(std::mt19937& random, int characters)
{
    struct Range {
        char32_t first, last;
    };
    static constexpr std::array<Range, 14> kRanges = {{{0x20, 0x7E},
                                                       {0x20, 0x20},
                                                       {0x61, 0x7A},
                                                       {0x09, 0x0D},
                                                       {0x00, 0x1F},
                                                       {0x80, 0x24F},
                                                       {0x300, 0x36F},
                                                       {0x370, 0x52F},
                                                       {0x5D0, 0x6FF},
                                                       {0x900, 0xDFF},
                                                       {0x2000, 0x2FFF},
                                                       {0x3000, 0xD7FF},
                                                       {0xE000, 0xFFFF},
                                                       {0x10000, 0x10FFFF}}};
    std::string text;
    while (characters > 0) {
        const Range range = kRanges[below(random, kRanges.size())];
        const char32_t codePoint = range.first + below(random, range.last - range.first + 1);
        // Runs of one character are where pre-tokenizers and user-defined tokens go wrong.
        const int repeats = below(random, 8) == 0 ? 1 + static_cast<int>(below(random, 40)) : 1;
        for (int i = 0; i < repeats && characters > 0; ++i, --characters)
            appendUtf8(text, codePoint);
    }
    return text;
}

}  // namespace tokenscope::test
