// A string of the template language: bytes, and which of them came from a message. Every operation on strings keeps
// that mark with the bytes, so that user text stays data however a template slices and joins it.
#pragma once

#include "engine/tokenizer/tokenizer.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tokenscope::jinja {

class Text {
public:
    Text() = default;
    explicit Text(std::string bytes, bool isData = false);

    const std::string& bytes() const { return m_bytes; }
    std::size_t size() const { return m_bytes.size(); }
    bool empty() const { return m_bytes.empty(); }
    bool isDataAt(std::size_t byte) const;

    void append(std::string_view bytes, bool isData);
    void append(const Text& other) { append(other, 0, other.size()); }
    void append(const Text& other, std::size_t begin, std::size_t end);  // its bytes [begin, end)
    Text slice(std::size_t begin, std::size_t end) const;

    void appendSegmentsTo(std::vector<TextSegment>& segments) const;

private:
    struct Range {
        std::size_t begin = 0;
        std::size_t end = 0;
    };
    std::vector<Range>::const_iterator firstRangeEndingAfter(std::size_t byte) const;

    std::string m_bytes;
    std::vector<Range> m_data;  // sorted, neither empty nor touching
};

}  // namespace tokenscope::jinja
