// Mouse, keyboard, selection and find of the transcript.
#include "ui/widgets/transcript_view.h"

#include <QApplication>
#include <QClipboard>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QScrollBar>
#include <QToolTip>
#include <QUrl>

#include <algorithm>

namespace tokenscope::ui {
namespace {

constexpr int kArrowStep = 56;

}  // namespace

std::pair<int, MessageHit> TranscriptView::hitAt(const QPoint& point)
{
    const int row = rowAt(point.y());
    if (!m_model || row < 0)
        return {-1, {}};
    return {row, layoutFor(row).hit(QPointF(point) - QPointF(0, rowViewportPosition(row)))};
}

void TranscriptView::setHovered(int row, const MessageHit& hit)
{
    qint64 message = 0;
    int token = -1;
    if (row >= 0 && hit.position) {
        const TranscriptItem& item = m_model->item(row);
        if (const std::optional<int> found = item.tokens.tokenAt(layoutFor(row).sourceOf(*hit.position))) {
            message = item.id;
            token = *found;
        }
    }
    if (row != m_hoveredRow || hit.codeBlock != m_hoveredCode || message != m_hoveredMessage || token != m_hoveredToken)
        viewport()->update();
    m_hoveredRow = row;
    m_hoveredCode = hit.codeBlock;
    if (message != m_hoveredMessage || token != m_hoveredToken) {
        m_hoveredMessage = message;
        m_hoveredToken = token;
        emit tokenHovered(message, token);
    }
    const bool button = hit.action != MessageAction::None || hit.codeBlock >= 0 || !hit.link.isEmpty();
    viewport()->setCursor(button ? Qt::PointingHandCursor : hit.position ? Qt::IBeamCursor : Qt::ArrowCursor);
}

void TranscriptView::mousePressEvent(QMouseEvent* event)
{
    setFocus(Qt::MouseFocusReason);
    const auto [row, hit] = hitAt(event->position().toPoint());
    if (row >= 0)
        setCurrentIndex(m_model->index(row, 0));
    if (event->button() != Qt::LeftButton || row < 0)
        return;
    if (hit.action != MessageAction::None || hit.codeBlock >= 0)
        return;
    m_cursor = {row, hit.nearest};
    if (!(event->modifiers() & Qt::ShiftModifier) || m_anchor.row < 0)
        m_anchor = m_cursor;
    m_selecting = true;
    viewport()->update();
}

void TranscriptView::mouseMoveEvent(QMouseEvent* event)
{
    const QPoint point = event->position().toPoint();
    if (m_selecting && event->buttons() & Qt::LeftButton) {
        if (point.y() < 0)
            scrollBy(point.y() / 2);
        else if (point.y() > viewport()->height())
            scrollBy((point.y() - viewport()->height()) / 2);
        const QPoint inside(point.x(), std::clamp(point.y(), 0, viewport()->height() - 1));
        const auto [row, hit] = hitAt(inside);
        if (row >= 0) {
            m_cursor = {row, hit.nearest};
            viewport()->update();
        }
        return;
    }
    const auto [row, hit] = hitAt(point);
    setHovered(row, hit);
}

void TranscriptView::mouseReleaseEvent(QMouseEvent* event)
{
    const auto [row, hit] = hitAt(event->position().toPoint());
    const bool selected = m_anchor < m_cursor || m_cursor < m_anchor;
    const bool wasSelecting = std::exchange(m_selecting, false);
    if (event->button() != Qt::LeftButton || row < 0)
        return;
    if (wasSelecting && selected) {
        if (QApplication::clipboard()->supportsSelection())
            QApplication::clipboard()->setText(selectedText(), QClipboard::Selection);
        return;
    }
    if (hit.codeBlock >= 0) {
        QApplication::clipboard()->setText(layoutFor(row).codeOf(hit.codeBlock));
        emit copied();
    } else if (hit.action != MessageAction::None) {
        emit actionRequested(m_model->item(row).id, hit.action);
    } else if (!hit.link.isEmpty()) {
        emit linkActivated(QUrl(hit.link));
    }
}

void TranscriptView::mouseDoubleClickEvent(QMouseEvent* event)
{
    const auto [row, hit] = hitAt(event->position().toPoint());
    if (row < 0 || !hit.position)
        return;
    const TextRange word = layoutFor(row).wordAt(*hit.position);
    m_anchor = {row, word.begin};
    m_cursor = {row, word.end};
    viewport()->update();
}

void TranscriptView::leaveEvent(QEvent* event)
{
    QTableView::leaveEvent(event);
    setHovered(-1, {});
}

void TranscriptView::focusInEvent(QFocusEvent* event)
{
    QTableView::focusInEvent(event);
    if (m_model && m_model->rowCount() > 0 && !currentIndex().isValid())
        setCurrentIndex(m_model->index(m_model->rowCount() - 1, 0));
    viewport()->update();
}

void TranscriptView::contextMenuEvent(QContextMenuEvent* event)
{
    int row = currentIndex().row();
    QPoint at = event->globalPos();
    if (event->reason() == QContextMenuEvent::Mouse)
        row = rowAt(event->pos().y());
    else if (row >= 0)
        at = viewport()->mapToGlobal(QPoint(40, std::max(10, rowViewportPosition(row) + 20)));
    if (m_model && row >= 0)
        emit menuRequested(m_model->item(row).id, at);
}

bool TranscriptView::viewportEvent(QEvent* event)
{
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        const auto [row, hit] = hitAt(help->pos());
        const QString tip = !hit.link.isEmpty() ? hit.link : hit.tip;
        if (row < 0 || tip.isEmpty())
            QToolTip::hideText();
        else
            QToolTip::showText(help->globalPos(), tip, viewport());
        return true;
    }
    return QTableView::viewportEvent(event);
}

void TranscriptView::keyPressEvent(QKeyEvent* event)
{
    const int page = viewport()->height() - 40;
    const bool control = event->modifiers() & Qt::ControlModifier;
    const auto moveCurrent = [this](int step) {
        if (!m_model || m_model->rowCount() == 0)
            return;
        const int row = std::clamp(currentIndex().row() + step, 0, m_model->rowCount() - 1);
        setCurrentIndex(m_model->index(row, 0));
        const int top = rowViewportPosition(row);
        if (top < 0 || top > viewport()->height() - 60)
            scrollBy(top - 20);
        viewport()->update();
    };
    if (event->matches(QKeySequence::Copy)) {
        copySelection();
        return;
    }
    if (event->matches(QKeySequence::SelectAll)) {
        selectAll();
        return;
    }
    switch (event->key()) {
    case Qt::Key_Up:
        control ? moveCurrent(-1) : scrollBy(-kArrowStep);
        return;
    case Qt::Key_Down:
        control ? moveCurrent(1) : scrollBy(kArrowStep);
        return;
    case Qt::Key_PageUp:
        scrollBy(-page);
        return;
    case Qt::Key_PageDown:
    case Qt::Key_Space:
        scrollBy(page);
        return;
    case Qt::Key_Home:
        verticalScrollBar()->setValue(0);
        return;
    case Qt::Key_End:
        followEnd();
        return;
    default:
        event->ignore();
    }
}

QString TranscriptView::selectedText() const
{
    QStringList texts;
    const Place from = std::min(m_anchor, m_cursor);
    const Place to = std::max(m_anchor, m_cursor);
    if (from.row < 0)
        return {};
    auto* self = const_cast<TranscriptView*>(this);  // rows out of sight are laid out for it
    for (int row = from.row; row <= to.row && row < m_model->rowCount(); ++row)
        if (const QString text = self->layoutFor(row).textOf(selectionIn(row)); !text.isEmpty())
            texts << text;
    return texts.join(QStringLiteral("\n\n"));
}

void TranscriptView::selectAll()
{
    if (!m_model || m_model->rowCount() == 0)
        return;
    m_anchor = {0, 0};
    m_cursor = {m_model->rowCount() - 1, layoutFor(m_model->rowCount() - 1).length()};
    viewport()->update();
}

void TranscriptView::copySelection()
{
    QString text = selectedText();
    if (text.isEmpty() && currentIndex().isValid())
        text = m_model->item(currentIndex().row()).text;
    if (text.isEmpty())
        return;
    QApplication::clipboard()->setText(text);
    emit copied();
}

int TranscriptView::setFind(const QString& needle)
{
    m_needle = needle;
    m_foundRow = m_foundIndex = -1;
    int messages = 0;
    if (m_model && !needle.isEmpty())
        for (int row = 0; row < m_model->rowCount(); ++row)
            messages += m_model->item(row).text.contains(needle, Qt::CaseInsensitive) ? 1 : 0;
    viewport()->update();
    return messages;
}

bool TranscriptView::findNext(bool backwards)
{
    if (!m_model || m_needle.isEmpty() || m_model->rowCount() == 0)
        return false;
    const int rows = m_model->rowCount();
    // Begins where the reader is, and goes once round.
    int row = m_foundRow >= 0 ? m_foundRow : std::max(0, rowAt(0));
    int index = m_foundRow >= 0 ? m_foundIndex + (backwards ? -1 : 1) : backwards ? -1 : 0;
    for (int step = 0; step <= rows; ++step) {
        if (m_model->item(row).text.contains(m_needle, Qt::CaseInsensitive)) {
            const int count = static_cast<int>(layoutFor(row).find(m_needle).size());
            if (step > 0 && backwards)
                index = count - 1;
            if (index >= 0 && index < count) {
                m_foundRow = row;
                m_foundIndex = index;
                showFound();
                return true;
            }
        }
        row = (row + (backwards ? rows - 1 : 1)) % rows;
        index = 0;
    }
    return false;
}

void TranscriptView::showFound()
{
    setFollow(false);
    setCurrentIndex(m_model->index(m_foundRow, 0));
    // Twice: the first scroll measures the rows on the way, which moves the place.
    for (int i = 0; i < 2; ++i) {
        const std::vector<TextRange> found = layoutFor(m_foundRow).find(m_needle);
        const std::vector<QRectF> places = layoutFor(m_foundRow).rectsOf(found[static_cast<std::size_t>(m_foundIndex)]);
        const double y = rowViewportPosition(m_foundRow) + (places.empty() ? 0.0 : places.front().center().y());
        if (y < 30 || y > viewport()->height() - 30)
            scrollBy(qRound(y - viewport()->height() / 3.0));
    }
    viewport()->update();
}

}  // namespace tokenscope::ui
