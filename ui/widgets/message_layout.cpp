#include "ui/widgets/message_layout.h"

#include "ui/theme/fonts.h"
#include "ui/theme/metrics.h"
#include "ui/widgets/rendered_text.h"

#include <QAbstractTextDocumentLayout>
#include <QCoreApplication>
#include <QFontMetricsF>
#include <QTextBlock>
#include <QTextCursor>

#include <algorithm>

namespace tokenscope::ui {
namespace {

constexpr double kSideMargin = 26;
constexpr double kTop = 8, kBottom = 8;
constexpr double kBubblePadX = 13, kBubblePadTop = 8, kBubblePadBottom = 7;
constexpr double kBlockGap = 8;       // between paragraphs and lists
constexpr double kBubbleIndent = 90;  // a bubble never reaches the left edge: the two speakers stay apart in grey, too
constexpr double kCodePadX = 12, kCodePadY = 9;
constexpr int kLineCharacters = 90;  // longest line that reads well

double footHeight()
{
    return std::max(22, scaled(22));
}

double wrappedHeight(const QString& text, const QFont& font, double width)
{
    return QFontMetricsF(font).boundingRect(QRectF(0, 0, width, 1e6), Qt::TextWordWrap, text).height();
}

}  // namespace

QString actionName(MessageAction action)
{
    const auto tr = [](const char* text) { return QCoreApplication::translate("MessageAction", text); };
    switch (action) {
    case MessageAction::Copy:
        return tr("Copy");
    case MessageAction::Regenerate:
        return tr("Answer again");
    case MessageAction::Continue:
        return tr("Continue the answer");
    case MessageAction::Edit:
        return tr("Edit and ask again");
    case MessageAction::PreviousSibling:
        return tr("Previous version");
    case MessageAction::NextSibling:
        return tr("Next version");
    case MessageAction::None:
        break;
    }
    return {};
}

void MessageLayout::update(const TranscriptItem& item, int rowWidth, const Palette& colors, bool parseText)
{
    m_fromUser = item.fromUser;
    m_streaming = item.look == MessageLook::Streaming;
    m_statusText = item.text.isEmpty() && m_streaming ? item.statusText : QString();
    m_errorText = item.look == MessageLook::Failed ? item.errorText : QString();
    m_notices = item.notices;
    if (parseText &&
        (item.text != m_source || m_parsedFinished == m_streaming || (m_parts.empty() && !item.text.isEmpty())))
        parse(item, colors);
    layOut(item, rowWidth);
}

void MessageLayout::parse(const TranscriptItem& item, const Palette& colors)
{
    m_source = item.text;
    m_parsedFinished = !m_streaming;
    if (item.fromUser) {
        m_parts.clear();
        Part part;
        part.block.kind = MarkdownBlock::Kind::Plain;
        part.block.text = item.text;
        part.block.end = static_cast<int>(item.text.size());
        part.document = renderPlain(item.text, colors);
        m_parts.push_back(std::move(part));
        return;
    }
    const auto kept = static_cast<std::size_t>(m_stream.setText(item.text, !m_streaming));
    const std::vector<MarkdownBlock>& blocks = m_stream.blocks();
    m_parts.resize(std::min(kept, m_parts.size()));
    for (std::size_t i = m_parts.size(); i < blocks.size(); ++i) {
        Part part;
        part.block = blocks[i];
        switch (blocks[i].kind) {
        case MarkdownBlock::Kind::Prose:
            part.document = renderProse(blocks[i].text, colors);
            part.hasQuote = blocks[i].text.contains(u'>');
            break;
        case MarkdownBlock::Kind::Code:
            part.document = renderCode(blocks[i].text, blocks[i].language, colors);
            break;
        case MarkdownBlock::Kind::Plain:
            part.document = renderPlain(blocks[i].text, colors);
            break;
        }
        m_parts.push_back(std::move(part));
    }
}

void MessageLayout::layOut(const TranscriptItem& item, int rowWidth)
{
    const double most = QFontMetricsF(roleFont(FontRole::Body)).averageCharWidth() * kLineCharacters;
    const double width = std::max(80.0, std::min(rowWidth - 2 * kSideMargin, most));
    const double left = std::floor((rowWidth - width) / 2);
    const auto setWidth = [](QTextDocument& document, double textWidth) {
        if (document.textWidth() != textWidth)
            document.setTextWidth(textWidth);
    };
    double y = kTop;
    int base = 0;
    m_bubble = {};
    for (Part& part : m_parts) {
        part.base = base;
        base += part.document->characterCount();
        if (m_fromUser) {
            const double inner = width - std::min(kBubbleIndent, width / 4) - 2 * kBubblePadX;
            setWidth(*part.document, inner);
            const double used = std::ceil(std::min(inner, part.document->idealWidth()));
            const double bubble = used + 2 * kBubblePadX;
            m_bubble = QRectF(left + width - bubble, y, bubble,
                              part.document->size().height() + kBubblePadTop + kBubblePadBottom);
            part.origin = m_bubble.topLeft() + QPointF(kBubblePadX, kBubblePadTop);
            y = m_bubble.bottom();
        } else if (part.block.kind == MarkdownBlock::Kind::Code) {
            setWidth(*part.document, width - 2 * kCodePadX);
            if (&part != &m_parts.front())
                y += kBlockGap;
            part.frame = QRectF(left, y, width, part.document->size().height() + 2 * kCodePadY);
            part.origin = part.frame.topLeft() + QPointF(kCodePadX, kCodePadY);
            part.copy = QRectF(part.frame.right() - 30, part.frame.top() + 5, 25, 25);
            y = part.frame.bottom();
        } else {
            if (&part != &m_parts.front())
                y += kBlockGap;
            setWidth(*part.document, width);
            part.origin = QPointF(left, y);
            y += part.document->size().height();
        }
    }
    const auto textBox = [&](const QString& text, FontRole role, double gap) {
        if (text.isEmpty())
            return QRectF();
        const QRectF box(left, y + gap, width, wrappedHeight(text, roleFont(role), width) + 2);
        y = box.bottom();
        return box;
    };
    m_statusPlace = textBox(m_statusText, FontRole::Body, 2);
    m_errorPlace = {};
    if (!m_errorText.isEmpty()) {
        const double inner = width - 46;
        m_errorPlace = QRectF(left, y + 4, width, wrappedHeight(m_errorText, roleFont(FontRole::Body), inner) + 18);
        y = m_errorPlace.bottom() + 4;
    }
    m_noticePlace = textBox(m_notices.join(QLatin1Char('\n')), FontRole::Small, 2);

    m_buttons.clear();
    m_cells = metricCells(item);
    m_siblings.clear();
    m_previous = m_next = m_siblingPlace = {};
    const double foot = footHeight();
    std::vector<MessageAction> actions;
    if (m_fromUser)
        actions = {MessageAction::Edit, MessageAction::Copy};
    else if (!m_streaming)
        actions = {MessageAction::Copy, MessageAction::Regenerate, MessageAction::Continue};
    const bool siblings = item.siblingCount > 1;
    if (m_fromUser) {
        // Beside the bubble, so that no line is spent on what is seldom shown.
        double x = m_bubble.left() - 6;
        const double top = m_bubble.bottom() - foot - 5;
        for (const MessageAction action : {MessageAction::Copy, MessageAction::Edit}) {
            x -= foot;
            m_buttons.push_back({action, QRectF(x, top, foot, foot)});
        }
        if (siblings) {
            m_foot = QRectF(left, y + 4, width, foot);
            y = m_foot.bottom();
        } else {
            m_foot = {};
        }
    } else if (!m_streaming || siblings) {
        m_foot = QRectF(left, y + 2, width, foot);
        y = m_foot.bottom();
        double x = m_foot.right() - foot * static_cast<double>(actions.size());
        for (const MessageAction action : actions) {
            m_buttons.push_back({action, QRectF(x, m_foot.top(), foot, foot)});
            x += foot;
        }
    } else {
        m_foot = {};
    }
    double x = m_foot.left();
    if (siblings) {
        m_siblings = QStringLiteral("%1/%2").arg(item.siblingIndex + 1).arg(item.siblingCount);
        const double label = tabularWidth(roleFont(FontRole::Small), m_siblings);
        const double all = label + 2 * foot;
        if (m_fromUser)
            x = m_foot.right() - all;
        m_previous = QRectF(x, m_foot.top(), foot, foot);
        m_siblingPlace = QRectF(x + foot, m_foot.top(), label, foot);
        m_next = QRectF(x + foot + label, m_foot.top(), foot, foot);
        x += all + 8;
    }
    const QFont small = roleFont(FontRole::Small);
    const QFont strong = roleFont(FontRole::SmallStrong);
    for (MetricCell& cell : m_cells) {
        double cellWidth = 0;
        if (!cell.label.isEmpty())
            cellWidth += QFontMetricsF(small).horizontalAdvance(cell.label) + 4;
        if (!cell.value.isEmpty())
            cellWidth += tabularWidth(strong, cell.value);
        if (!cell.unit.isEmpty())
            cellWidth += QFontMetricsF(small).horizontalAdvance(cell.unit) + (cell.value.isEmpty() ? 0 : 4);
        if (x + cellWidth > m_foot.right() && x > m_foot.left()) {
            x = m_foot.left();  // a narrow column gets a second line
            y += foot - 4;
        }
        cell.place = QRectF(x, y - foot, cellWidth, foot);
        x += cellWidth + 14;
    }
    m_height = static_cast<int>(std::ceil(y + kBottom));
}

int MessageLayout::length() const
{
    return m_parts.empty() ? 0 : m_parts.back().base + m_parts.back().document->characterCount();
}

const MessageLayout::Part* MessageLayout::partAt(int position) const
{
    for (const Part& part : m_parts)
        if (position < part.base + part.document->characterCount())
            return &part;
    return m_parts.empty() ? nullptr : &m_parts.back();
}

const std::vector<int>& MessageLayout::placesOf(const Part& part) const
{
    if (part.places.empty()) {
        QString shown;
        for (QTextBlock block = part.document->begin(); block.isValid(); block = block.next())
            shown += block.text() + QLatin1Char('\n');
        part.places = alignToSource(shown, part.block.text);
        for (int& place : part.places)
            place += part.block.textBegin;
    }
    return part.places;
}

int MessageLayout::sourceOf(int position) const
{
    const Part* part = partAt(position);
    if (!part)
        return 0;
    const std::vector<int>& places = placesOf(*part);
    const int local = std::clamp(position - part->base, 0, static_cast<int>(places.size()) - 1);
    return places[static_cast<std::size_t>(local)];
}

std::optional<TextRange> MessageLayout::shownRange(TextRange source) const
{
    for (const Part& part : m_parts) {
        if (part.block.end < source.begin)
            continue;
        const std::vector<int>& places = placesOf(part);
        const QTextDocument& document = *part.document;
        const int count = std::min(static_cast<int>(places.size()), document.characterCount() - 1);
        const auto isSpace = [&](int at) {
            return document.characterAt(at).isSpace() || document.characterAt(at).isNull();
        };
        int begin =
            static_cast<int>(std::lower_bound(places.begin(), places.begin() + count, source.begin) - places.begin());
        int end =
            static_cast<int>(std::lower_bound(places.begin(), places.begin() + count, source.end) - places.begin());
        while (begin < end && isSpace(begin))
            ++begin;
        while (end > begin && isSpace(end - 1))
            --end;
        if (begin >= end) {  // only syntax or space: the next word that can be seen
            while (begin < count && isSpace(begin))
                ++begin;
            end = begin;
            while (end < count && !isSpace(end))
                ++end;
        }
        if (begin < end)
            return TextRange{part.base + begin, part.base + end};
    }
    return std::nullopt;
}

std::vector<QRectF> MessageLayout::rectsOf(TextRange shown) const
{
    std::vector<QRectF> rects;
    for (const Part& part : m_parts) {
        const int begin = std::max(0, shown.begin - part.base);
        const int end = std::min(part.document->characterCount(), shown.end - part.base);
        if (begin >= end)
            continue;
        for (QTextBlock block = part.document->findBlock(begin); block.isValid() && block.position() < end;
             block = block.next()) {
            const QTextLayout* layout = block.layout();
            const QRectF box = part.document->documentLayout()->blockBoundingRect(block);
            for (int i = 0; i < layout->lineCount(); ++i) {
                const QTextLine line = layout->lineAt(i);
                const int from = std::max(begin - block.position(), line.textStart());
                const int to = std::min(end - block.position(), line.textStart() + line.textLength());
                if (from >= to)
                    continue;
                const double x1 = line.cursorToX(from);
                const double x2 = line.cursorToX(to);
                rects.push_back(QRectF(part.origin + box.topLeft() + QPointF(std::min(x1, x2), line.y()),
                                       QSizeF(std::abs(x2 - x1), line.height())));
            }
        }
    }
    return rects;
}

TextRange MessageLayout::wordAt(int position) const
{
    const Part* part = partAt(position);
    if (!part)
        return {};
    QTextCursor cursor(part->document.get());
    cursor.setPosition(std::clamp(position - part->base, 0, part->document->characterCount() - 1));
    cursor.select(QTextCursor::WordUnderCursor);
    return {part->base + cursor.selectionStart(), part->base + cursor.selectionEnd()};
}

std::vector<TextRange> MessageLayout::find(const QString& needle) const
{
    std::vector<TextRange> found;
    if (needle.isEmpty())
        return found;
    for (const Part& part : m_parts)
        for (QTextCursor at = part.document->find(needle); !at.isNull(); at = part.document->find(needle, at))
            found.push_back({part.base + at.selectionStart(), part.base + at.selectionEnd()});
    return found;
}

QString MessageLayout::textOf(TextRange range) const
{
    QStringList pieces;
    for (const Part& part : m_parts) {
        const int begin = std::max(0, range.begin - part.base);
        const int end = std::min(part.document->characterCount() - 1, range.end - part.base);
        if (begin >= end)
            continue;
        QTextCursor cursor(part.document.get());
        cursor.setPosition(begin);
        cursor.setPosition(end, QTextCursor::KeepAnchor);
        pieces << cursor.selectedText().replace(QChar::ParagraphSeparator, u'\n').replace(QChar::LineSeparator, u'\n');
    }
    return pieces.join(QLatin1Char('\n'));
}

QString MessageLayout::codeOf(int block) const
{
    return m_parts[static_cast<std::size_t>(block)].block.text;
}

MessageHit MessageLayout::hit(const QPointF& point) const
{
    MessageHit hit;
    for (const Button& button : m_buttons)
        if (button.place.contains(point)) {
            hit.action = button.action;
            hit.tip = actionName(button.action);
        }
    if (m_previous.contains(point))
        hit.action = MessageAction::PreviousSibling;
    if (m_next.contains(point))
        hit.action = MessageAction::NextSibling;
    if (hit.action != MessageAction::None)
        hit.tip = actionName(hit.action);
    for (const MetricCell& cell : m_cells)
        if (cell.place.contains(point) && hit.action == MessageAction::None)
            hit.tip = cell.definition;

    for (std::size_t i = 0; i < m_parts.size(); ++i) {
        const Part& part = m_parts[i];
        if (part.copy.contains(point)) {
            hit.codeBlock = static_cast<int>(i);
            hit.tip = QCoreApplication::translate("MessageAction", "Copy this code");
        }
        const QPointF local = point - part.origin;
        const QAbstractTextDocumentLayout* layout = part.document->documentLayout();
        const bool inside = local.y() >= 0 && local.y() < part.document->size().height();
        if (inside) {
            const int exact = layout->hitTest(local, Qt::ExactHit);
            // Between two characters Qt gives the nearer gap; the character under the point is the one it covers.
            if (exact >= 0) {
                int at = exact;
                for (const QRectF& box : rectsOf({part.base + exact - 1, part.base + exact}))
                    if (box.contains(point))
                        at = exact - 1;
                for (const QRectF& box : rectsOf({part.base + at, part.base + at + 1}))
                    if (box.contains(point))
                        hit.position = part.base + at;
            }
            hit.link = layout->anchorAt(local);
        }
        if (local.y() >= 0 || i == 0)
            hit.nearest = part.base + std::max(0, layout->hitTest(local, Qt::FuzzyHit));
    }
    return hit;
}

}  // namespace tokenscope::ui
