// Splits Markdown that grows at its end into blocks. A block is closed when nothing that follows can change it: at a
// blank line outside code fences and lists, or at the fence that ends a code block. Closed blocks are never parsed
// again; only the tail is, so that an answer of 16 KB costs 0.1 s in all instead of 10.
//
// Streaming in pieces gives the same blocks as the whole text at once (a test compares).
#pragma once

#include <QString>

#include <vector>

namespace tokenscope::ui {

struct MarkdownBlock {
    enum class Kind {
        Prose,  // `text` is Markdown
        Code,   // `text` is what stands between the fences
        Plain,  // beyond what is rendered as Markdown: shown as it is
    };
    Kind kind = Kind::Prose;
    int begin = 0;  // of the source, in UTF-16 units; fences included
    int end = 0;
    int textBegin = 0;  // of `text` in the source
    QString text;
    QString language;  // of Code
    bool closed = false;

    bool operator==(const MarkdownBlock&) const = default;
};

class MarkdownStream {
public:
    // 64 KB of an answer are rendered as Markdown, the rest as plain text: a table of a megabyte would stop the window.
    static constexpr int kMaxRendered = 64 * 1024;

    // `text` continues the text of the last call; anything else starts anew. `finished`: nothing will follow.
    // Gives the number of blocks at the front that are the same as after the last call.
    int setText(const QString& text, bool finished);

    const std::vector<MarkdownBlock>& blocks() const { return m_blocks; }

private:
    QString m_text;
    std::vector<MarkdownBlock> m_blocks;
};

// All blocks of `source` from `from` on.
std::vector<MarkdownBlock> splitMarkdown(const QString& source, int from, bool finished);

}  // namespace tokenscope::ui
