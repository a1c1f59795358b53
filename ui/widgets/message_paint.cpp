#include "ui/theme/fonts.h"
#include "ui/theme/icons.h"
#include "ui/widgets/message_layout.h"
#include "ui/widgets/painting.h"

#include <QAbstractTextDocumentLayout>
#include <QTextBlock>

#include <algorithm>

namespace tokenscope::ui {
namespace {

QString iconOf(MessageAction action)
{
    switch (action) {
    case MessageAction::Copy:
        return QStringLiteral("copy");
    case MessageAction::Regenerate:
        return QStringLiteral("refresh");
    case MessageAction::Continue:
        return QStringLiteral("continue");
    case MessageAction::Edit:
        return QStringLiteral("edit");
    case MessageAction::PreviousSibling:
        return QStringLiteral("left");
    case MessageAction::NextSibling:
        return QStringLiteral("right");
    case MessageAction::None:
        break;
    }
    return {};
}

void drawButton(QPainter& painter, const QRectF& place, const QString& icon, const QColor& ink)
{
    const double size = place.height() * 0.7;
    drawIcon(painter, QRectF(place.center() - QPointF(size / 2, size / 2), QSizeF(size, size)), icon, ink);
}

}  // namespace

void MessageLayout::paint(QPainter& painter, const Palette& colors, const MessagePaint& state) const
{
    painter.setRenderHint(QPainter::Antialiasing);
    if (state.focused)
        drawBox(painter, QRectF(6, kSpace2, 3, m_height - 2 * kSpace2), 1.5, colors.accent);
    if (!m_bubble.isNull())
        drawBox(painter, m_bubble, kBubbleRadius, colors.user);

    for (std::size_t i = 0; i < state.found.size(); ++i)
        for (const QRectF& box : rectsOf(state.found[i])) {
            QColor fill = colors.s3;
            fill.setAlpha(static_cast<int>(i) == state.currentFound ? 130 : 60);
            drawBox(painter, box, 2, fill);
        }
    const QColor selected = mixed(colors.panel, colors.accent, colors.dark ? 0.45 : 0.28);

    for (std::size_t i = 0; i < m_parts.size(); ++i) {
        const Part& part = m_parts[i];
        if (!part.frame.isNull())
            drawBox(painter, part.frame, kRadius, colors.code, colors.line);
        const QRectF visible = state.clip.translated(-part.origin);
        if (visible.bottom() < 0 || visible.top() > part.document->size().height())
            continue;
        QAbstractTextDocumentLayout::PaintContext context;
        context.clip = visible;
        context.palette.setColor(QPalette::Text, colors.text);
        const int begin = std::clamp(state.selection.begin - part.base, 0, part.document->characterCount() - 1);
        const int end = std::clamp(state.selection.end - part.base, 0, part.document->characterCount() - 1);
        if (begin < end) {
            QAbstractTextDocumentLayout::Selection selection;
            selection.cursor = QTextCursor(part.document.get());
            selection.cursor.setPosition(begin);
            selection.cursor.setPosition(end, QTextCursor::KeepAnchor);
            selection.format.setBackground(selected);
            context.selections.append(selection);
        }
        painter.save();
        painter.translate(part.origin);
        part.document->documentLayout()->draw(&painter, context);
        for (QTextBlock block = part.document->begin(); part.hasQuote && block.isValid(); block = block.next())
            if (block.blockFormat().hasProperty(QTextFormat::BlockQuoteLevel)) {
                const QRectF box = part.document->documentLayout()->blockBoundingRect(block);
                drawBox(painter, QRectF(0, box.top() + 2, 3, box.height() - 2), 1.5,
                        mixed(colors.line, colors.faint, 0.4));
            }
        painter.restore();
        if (!part.copy.isNull() && (state.active || state.hoveredCode == static_cast<int>(i))) {
            const bool hovered = state.hoveredCode == static_cast<int>(i);
            drawBox(painter, part.copy, 6, hovered ? colors.accentSoft : colors.panel, colors.line);
            drawButton(painter, part.copy, QStringLiteral("copy"), hovered ? colors.accent : colors.dim);
        }
    }
    for (const QRectF& box : rectsOf(state.marked)) {
        QColor fill = colors.s3;
        fill.setAlpha(colors.dark ? 42 : 30);
        painter.fillRect(box, fill);
        painter.fillRect(QRectF(box.left(), box.bottom() - 2, box.width(), 2), colors.s3);
    }
    if (m_streaming && !m_parts.empty())
        paintCaret(painter, colors);

    painter.setFont(roleFont(FontRole::Body));
    painter.setPen(colors.dim);
    if (!m_statusText.isEmpty())
        painter.drawText(m_statusPlace, Qt::TextWordWrap, m_statusText);
    if (!m_errorText.isEmpty()) {
        drawBox(painter, m_errorPlace, kRadius, mixed(colors.panel, colors.bad, 0.07),
                mixed(colors.panel, colors.bad, 0.4));
        drawIcon(painter, QRectF(m_errorPlace.left() + 12, m_errorPlace.top() + 9, 18, 18), QStringLiteral("warning"),
                 colors.bad);
        painter.setPen(colors.text);
        painter.drawText(m_errorPlace.adjusted(38, 9, -8, -6), Qt::TextWordWrap, m_errorText);
    }
    if (!m_notices.isEmpty()) {
        painter.setFont(roleFont(FontRole::Small));
        painter.setPen(colors.warn);
        painter.drawText(m_noticePlace, Qt::TextWordWrap, m_notices.join(QLatin1Char('\n')));
    }
    paintFoot(painter, colors, state);
}

void MessageLayout::paintCaret(QPainter& painter, const Palette& colors) const
{
    const Part& part = m_parts.back();
    const QTextBlock block = part.document->lastBlock();
    const QTextLayout* layout = block.layout();
    if (layout->lineCount() == 0)
        return;
    const QTextLine line = layout->lineAt(layout->lineCount() - 1);
    const QRectF box = part.document->documentLayout()->blockBoundingRect(block);
    const QPointF at = part.origin + box.topLeft() + QPointF(line.cursorToX(block.length() - 1) + 1, line.y());
    const double height = QFontMetricsF(roleFont(FontRole::Body)).height();
    painter.fillRect(QRectF(at.x(), at.y() + line.height() - height, 4, height), colors.text);
}

void MessageLayout::paintFoot(QPainter& painter, const Palette& colors, const MessagePaint& state) const
{
    const QFont small = roleFont(FontRole::Small);
    const QFont strong = roleFont(FontRole::SmallStrong);
    const auto baseline = [&](const QRectF& place) {
        return place.top() + (place.height() + QFontMetricsF(small).capHeight()) / 2;
    };
    if (!m_siblings.isEmpty()) {
        drawButton(painter, m_previous, QStringLiteral("left"), colors.dim);
        drawButton(painter, m_next, QStringLiteral("right"), colors.dim);
        painter.setFont(small);
        painter.setPen(colors.dim);
        drawTabular(painter, QPointF(m_siblingPlace.left(), baseline(m_siblingPlace)), m_siblings);
    }
    for (const MetricCell& cell : m_cells) {
        double x = cell.place.left();
        const double y = baseline(cell.place);
        if (!cell.label.isEmpty()) {
            painter.setFont(small);
            painter.setPen(colors.dim);
            painter.drawText(QPointF(x, y), cell.label);
            x += QFontMetricsF(small).horizontalAdvance(cell.label) + 4;
        }
        if (!cell.value.isEmpty()) {
            painter.setFont(strong);
            painter.setPen(colors.text);
            drawTabular(painter, QPointF(x, y), cell.value);
            x += tabularWidth(strong, cell.value) + 4;
        }
        if (!cell.unit.isEmpty()) {
            painter.setFont(small);
            painter.setPen(colors.dim);
            painter.drawText(QPointF(x, y), cell.unit);
        }
    }
    if (!state.active || m_buttons.empty())
        return;
    QRectF all = m_buttons.front().place;
    for (const Button& button : m_buttons)
        all = all.united(button.place);
    drawBox(painter, all.adjusted(-3, -1, 3, 1), kRadius, colors.panel, colors.line);
    for (const Button& button : m_buttons)
        drawButton(painter, button.place, iconOf(button.action), colors.dim);
}

}  // namespace tokenscope::ui
