// Turns token bytes into text that may be shown while it is generated: incomplete UTF-8 is held back, and so is any
// tail that could be the beginning of a stop string. Single-threaded.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tokenscope {

class TextStream {
public:
    explicit TextStream(std::vector<std::string> stopStrings);

    struct Piece {
        std::string text;      // whole characters, safe to show
        bool stopped = false;  // a stop string was met; what follows it, and itself, is not part of the text
    };
    Piece push(std::string_view bytes);
    // End of the answer: what was held back, incomplete characters included as U+FFFD. Of several stop strings the one
    // that begins first counts; one that was complete but waited for a longer and earlier one cuts the text here.
    std::string finish();

    std::size_t textBytes() const;  // of the answer so far, held-back bytes included, stop string excluded

private:
    struct Scan {
        std::size_t safeBytes = 0;  // of m_pending: certainly before any stop string
        bool stopped = false;       // one begins there
    };
    Scan scan(bool atEnd) const;
    std::string stopAfter(std::size_t safeBytes);

    std::vector<std::string> m_stopStrings;
    std::string m_pending;  // an unfinished character, or what may begin a stop string
    std::size_t m_emittedBytes = 0;
    bool m_stopped = false;
};

}  // namespace tokenscope
