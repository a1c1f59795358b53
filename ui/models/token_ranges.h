// Where each token of an answer stands in its text: UTF-16 positions, as Qt counts, made from the byte ranges the
// engine gives. A token that holds part of a character covers the whole of it.
#pragma once

#include "engine/types/events.h"

#include <QByteArray>

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace tokenscope::ui {

struct TextRange {
    int begin = 0;
    int end = 0;
    bool empty() const { return end <= begin; }
    bool operator==(const TextRange&) const = default;
};

class TokenRanges {
public:
    TokenRanges() = default;
    TokenRanges(std::string_view utf8, std::span<const TokenStamp> tokens);

    int count() const { return static_cast<int>(m_ranges.size()); }
    bool isEmpty() const { return m_ranges.empty(); }
    TextRange at(int token) const { return m_ranges[static_cast<std::size_t>(token)]; }
    std::optional<int> tokenAt(int position) const;  // the one that covers this character

private:
    std::vector<TextRange> m_ranges;  // begins never fall
};

}  // namespace tokenscope::ui
