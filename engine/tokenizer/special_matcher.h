// Finds the tokens that are matched as text before any splitting: control tokens and user-defined ones. At a position
// the longest one that is allowed there wins. Immutable, thread-safe.
#pragma once

#include "engine/tokenizer/vocabulary.h"

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace tokenscope {

class SpecialMatcher {
public:
    explicit SpecialMatcher(const Vocabulary& vocabulary);  // keeps views of its texts

    struct Match {
        TokenId id = 0;
        std::size_t bytes = 0;
    };
    // `reservedBytes`: how far from `position` reserved tokens may reach (0: ordinary text, none at all).
    std::optional<Match> matchAt(std::string_view text, std::size_t position, std::size_t reservedBytes) const;

private:
    struct Entry {
        std::string_view text;
        TokenId id = 0;
        bool reserved = false;
    };
    std::vector<Entry> m_entries;                // sorted by text
    std::array<std::size_t, 257> m_firstByte{};  // entries that begin with byte b: [m_firstByte[b], m_firstByte[b + 1])
};

}  // namespace tokenscope
