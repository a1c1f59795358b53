#include "ui/widgets/markdown_stream.h"

#include <QStringView>

#include <algorithm>
#include <optional>

namespace tokenscope::ui {
namespace {

struct Fence {
    QChar mark;
    int length = 0;
    int indent = 0;
};

int indentOf(QStringView line)
{
    int columns = 0;
    for (const QChar c : line) {
        if (c == u' ')
            ++columns;
        else if (c == u'\t')
            columns += 4 - columns % 4;
        else
            break;
    }
    return columns;
}

// CommonMark 4.5: three or more backticks or tildes; a backtick fence has no backtick in its info string.
std::optional<Fence> openingFence(QStringView line)
{
    const QStringView trimmed = line.trimmed();
    if (trimmed.size() < 3 || (trimmed[0] != u'`' && trimmed[0] != u'~'))
        return std::nullopt;
    int length = 0;
    while (length < trimmed.size() && trimmed[length] == trimmed[0])
        ++length;
    if (length < 3 || (trimmed[0] == u'`' && trimmed.mid(length).contains(u'`')))
        return std::nullopt;
    return Fence{trimmed[0], length, indentOf(line)};
}

bool closesFence(QStringView line, const Fence& fence)
{
    const QStringView trimmed = line.trimmed();
    return indentOf(line) < fence.indent + 4 && trimmed.size() >= fence.length &&
           std::all_of(trimmed.begin(), trimmed.end(), [&](QChar c) { return c == fence.mark; });
}

bool isListItem(QStringView line)
{
    const QStringView trimmed = line.trimmed();
    if (trimmed.isEmpty())
        return false;
    const auto endsMarker = [&](qsizetype at) { return at == trimmed.size() || trimmed[at].isSpace(); };
    if (trimmed[0] == u'-' || trimmed[0] == u'*' || trimmed[0] == u'+')
        return endsMarker(1);
    qsizetype digits = 0;
    while (digits < trimmed.size() && digits < 9 && trimmed[digits] >= u'0' && trimmed[digits] <= u'9')
        ++digits;
    return digits > 0 && digits < trimmed.size() && (trimmed[digits] == u'.' || trimmed[digits] == u')') &&
           endsMarker(digits + 1);
}

struct Line {
    int begin = 0;
    int end = 0;            // without the line feed
    bool complete = false;  // its line feed has come, or nothing will
};

class Splitter {
public:
    Splitter(const QString& source, bool finished) : m_source(source), m_finished(finished) {}

    std::vector<MarkdownBlock> run(int from)
    {
        const int size = static_cast<int>(m_source.size());
        for (int at = from; at < size;) {
            const int feed = static_cast<int>(m_source.indexOf(u'\n', at));
            const int end = feed < 0 ? size : feed;
            take({at, end, feed >= 0 || m_finished});
            at = end + 1;
        }
        if (m_fence)
            finishCode(size, size, m_finished);
        else if (m_begin >= 0)
            finishProse(m_textEnd, m_finished || m_blankIsFinal);
        return std::move(m_blocks);
    }

private:
    QStringView view(const Line& line) const { return QStringView(m_source).mid(line.begin, line.end - line.begin); }

    void take(const Line& line)
    {
        const QStringView text = view(line);
        if (m_fence) {
            if (closesFence(text, *m_fence))
                finishCode(line.begin, line.end, line.complete);
            return;
        }
        if (m_innerFence) {  // a code block inside a list item stays with the list
            if (closesFence(text, *m_innerFence))
                m_innerFence.reset();
            m_textEnd = line.end;
            return;
        }
        if (text.trimmed().isEmpty()) {
            if (m_begin >= 0) {
                m_blank = true;
                m_blankIsFinal = !m_list && line.complete;
            }
            return;
        }
        const int indent = indentOf(text);
        if (m_begin >= 0 && m_blank && !(m_list && (indent >= 2 || isListItem(text))))
            finishProse(m_textEnd, m_blankIsFinal || line.complete);
        m_blank = false;
        m_blankIsFinal = false;
        if (const std::optional<Fence> fence = openingFence(text)) {
            if (fence->indent <= 3 && !(m_begin >= 0 && m_list && fence->indent >= 2)) {
                if (m_begin >= 0)
                    finishProse(m_textEnd, line.complete);
                m_fence = fence;
                m_fenceLine = line;
                return;
            }
            m_innerFence = fence;
        }
        if (m_begin < 0) {
            m_begin = line.begin;
            m_list = false;
        }
        m_list = m_list || (indent <= 3 && isListItem(text));
        m_textEnd = line.end;
    }

    void finishProse(int end, bool closed)
    {
        MarkdownBlock block;
        block.begin = block.textBegin = m_begin;
        block.end = end;
        block.text = m_source.mid(m_begin, end - m_begin);
        block.closed = closed;
        m_blocks.push_back(std::move(block));
        m_begin = -1;
        m_blank = m_blankIsFinal = m_list = false;
        m_innerFence.reset();
    }

    // `textEnd` is where the closing fence's line begins, `end` where it ends.
    void finishCode(int textEnd, int end, bool closed)
    {
        MarkdownBlock block;
        block.kind = MarkdownBlock::Kind::Code;
        block.begin = m_fenceLine.begin;
        block.end = end;
        block.textBegin = std::min(m_fenceLine.end + 1, end);
        block.text = m_source.mid(block.textBegin, std::max(0, textEnd - block.textBegin));
        if (block.text.endsWith(u'\n'))
            block.text.chop(1);
        block.language =
            view(m_fenceLine).trimmed().mid(m_fence->length).trimmed().toString().section(u' ', 0, 0).left(40);
        block.closed = closed;
        m_blocks.push_back(std::move(block));
        m_fence.reset();
    }

    const QString& m_source;
    bool m_finished;
    std::vector<MarkdownBlock> m_blocks;
    std::optional<Fence> m_fence;  // of the code block that is open
    Line m_fenceLine;
    std::optional<Fence> m_innerFence;  // inside a list
    int m_begin = -1;                   // of the prose that is open
    int m_textEnd = 0;
    bool m_list = false;
    bool m_blank = false;
    bool m_blankIsFinal = false;
};

}  // namespace

std::vector<MarkdownBlock> splitMarkdown(const QString& source, int from, bool finished)
{
    if (source.size() <= MarkdownStream::kMaxRendered)
        return Splitter(source, finished).run(from);
    const QString rendered = source.left(MarkdownStream::kMaxRendered);
    std::vector<MarkdownBlock> blocks;
    if (from < rendered.size())
        blocks = Splitter(rendered, true).run(from);
    MarkdownBlock rest;
    rest.kind = MarkdownBlock::Kind::Plain;
    rest.begin = rest.textBegin = MarkdownStream::kMaxRendered;
    rest.end = static_cast<int>(source.size());
    rest.text = source.mid(MarkdownStream::kMaxRendered);
    rest.closed = finished;
    blocks.push_back(std::move(rest));
    return blocks;
}

int MarkdownStream::setText(const QString& text, bool finished)
{
    const bool continues = text.size() >= m_text.size() && text.startsWith(m_text);
    std::size_t kept = 0;
    if (continues)
        while (kept < m_blocks.size() && m_blocks[kept].closed)
            ++kept;
    m_text = text;
    const int from = kept > 0 ? m_blocks[kept - 1].end : 0;
    std::vector<MarkdownBlock> tail = splitMarkdown(text, from, finished);
    std::size_t same = kept;
    while (same < m_blocks.size() && same - kept < tail.size() && m_blocks[same] == tail[same - kept])
        ++same;
    m_blocks.resize(kept);
    std::move(tail.begin(), tail.end(), std::back_inserter(m_blocks));
    return static_cast<int>(same);
}

}  // namespace tokenscope::ui
