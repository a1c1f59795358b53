#include "ui/widgets/transcript_view.h"

#include "ui/theme/fonts.h"
#include "ui/widgets/painting.h"
#include "ui/widgets/pill_button.h"

#include <QDateTime>
#include <QHeaderView>
#include <QResizeEvent>
#include <QScrollBar>
#include <QStyledItemDelegate>

#include <algorithm>

namespace tokenscope::ui {
namespace {

constexpr int kGuessedHeight = 110;  // of a row nobody has seen yet
constexpr int kParseMs = 100;
constexpr std::size_t kLayouts = 120;  // kept: several screens around what is visible

}  // namespace

class TranscriptView::Delegate : public QStyledItemDelegate {
public:
    explicit Delegate(TranscriptView& view) : QStyledItemDelegate(&view), m_view(view) {}

    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override
    {
        painter->save();
        painter->setClipRect(option.rect);
        painter->translate(option.rect.topLeft());
        m_view.layoutFor(index.row()).paint(*painter, colorsOf(&m_view), m_view.paintState(index.row(), option.rect));
        painter->restore();
    }

private:
    TranscriptView& m_view;
};

TranscriptView::TranscriptView(QWidget* parent) : QTableView(parent)
{
    setAccessibleName(tr("Conversation"));
    setItemDelegate(new Delegate(*this));
    setFrameShape(QFrame::NoFrame);
    setShowGrid(false);
    setSelectionMode(QAbstractItemView::NoSelection);
    setEditTriggers(QAbstractItemView::NoEditTriggers);
    setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setTabKeyNavigation(false);
    setWordWrap(false);
    setAutoScroll(false);
    setMouseTracking(true);
    viewport()->setMouseTracking(true);
    viewport()->setBackgroundRole(QPalette::Window);
    horizontalHeader()->hide();
    horizontalHeader()->setSectionResizeMode(QHeaderView::Stretch);
    verticalHeader()->hide();
    verticalHeader()->setMinimumSectionSize(1);
    verticalHeader()->setDefaultSectionSize(kGuessedHeight);
    verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    verticalScrollBar()->setSingleStep(24);

    m_jump = new PillButton(PillButton::Kind::Secondary, tr("Jump to latest"), this);
    m_jump->setIconName(QStringLiteral("latest"));
    m_jump->hide();
    connect(m_jump, &QPushButton::clicked, this, &TranscriptView::followEnd);
    connect(verticalScrollBar(), &QScrollBar::rangeChanged, this, [this] { placeJump(); });
    m_parseLater.setSingleShot(true);
    connect(&m_parseLater, &QTimer::timeout, this, [this] {
        if (m_model && m_model->rowCount() > 0)
            rowsChanged(m_model->rowCount() - 1, m_model->rowCount() - 1);
    });
}

TranscriptView::~TranscriptView() = default;

void TranscriptView::setTranscript(TranscriptModel* model)
{
    m_model = model;
    setModel(model);
    connect(model, &QAbstractItemModel::modelReset, this, [this] {
        forgetLayouts();
        m_anchor = m_cursor = {};
        m_hoveredRow = m_foundRow = -1;
        m_follow = true;
        measureVisible();
    });
    connect(model, &QAbstractItemModel::rowsInserted, this, [this] { measureVisible(); });
    connect(model, &QAbstractItemModel::dataChanged, this,
            [this](const QModelIndex& first, const QModelIndex& last) { rowsChanged(first.row(), last.row()); });
}

void TranscriptView::rowsChanged(int first, int last)
{
    const qint64 now = QDateTime::currentMSecsSinceEpoch();
    if (first == last && m_model->item(first).look == MessageLook::Streaming && !m_model->item(first).text.isEmpty()) {
        if (now - m_parsedMs < kParseMs) {
            if (!m_parseLater.isActive())
                m_parseLater.start(static_cast<int>(kParseMs - (now - m_parsedMs)));
            return;
        }
        m_parsedMs = now;
    }
    for (int row = first; row <= last; ++row) {
        if (const auto known = m_layouts.find(m_model->item(row).id); known != m_layouts.end())
            known->second.fresh = false;
        m_measured.remove(row);
    }
    measureVisible();
    viewport()->update();
}

void TranscriptView::forgetLayouts()
{
    m_layouts.clear();
    m_measured.clear();
}

MessageLayout& TranscriptView::layoutFor(int row)
{
    const TranscriptItem& item = m_model->item(row);
    Cached& cached = m_layouts[item.id];
    cached.used = ++m_use;
    if (!cached.fresh) {
        // The whole width, scroll bar or not: the text keeps its place above the composer.
        cached.layout.update(item, width(), colorsOf(this));
        cached.fresh = true;
    }
    return cached.layout;
}

const MessageLayout* TranscriptView::layoutOf(int row)
{
    return m_model && row >= 0 && row < m_model->rowCount() ? &layoutFor(row) : nullptr;
}

void TranscriptView::dropOldLayouts()
{
    if (m_layouts.size() <= kLayouts)
        return;
    const std::uint64_t oldest = m_use > kLayouts / 2 ? m_use - kLayouts / 2 : 0;
    std::erase_if(m_layouts, [oldest](const auto& entry) { return entry.second.used < oldest; });
}

void TranscriptView::measureVisible()
{
    if (m_measuring || !m_model || viewport()->width() <= 0)
        return;
    m_measuring = true;
    const int rows = m_model->rowCount();
    // Measuring moves rows in or out of sight; each round sees what the last one brought.
    for (int round = 0; round < 50 && rows > 0; ++round) {
        if (m_follow)
            verticalScrollBar()->setValue(verticalScrollBar()->maximum());
        const int first = std::max(0, rowAt(0));
        const int seen = rowAt(viewport()->height() - 1);
        const int last = seen < 0 ? rows - 1 : seen;
        int anchor = -1;
        bool missing = false;
        for (int row = first; row <= last; ++row) {
            if (!m_measured.contains(row))
                missing = true;
            else if (anchor < 0)
                anchor = row;
        }
        if (!missing)
            break;
        const int before = anchor >= 0 ? rowViewportPosition(anchor) : 0;
        for (int row = first; row <= last; ++row)
            if (!m_measured.contains(row)) {
                setRowHeight(row, layoutFor(row).height());
                m_measured.insert(row);
            }
        updateGeometries();
        if (!m_follow && anchor >= 0)
            verticalScrollBar()->setValue(verticalScrollBar()->value() + rowViewportPosition(anchor) - before);
    }
    if (m_follow)
        verticalScrollBar()->setValue(verticalScrollBar()->maximum());
    m_measuring = false;
    dropOldLayouts();
    placeJump();
}

void TranscriptView::followEnd()
{
    m_follow = true;
    measureVisible();
    setFollow(true);
}

void TranscriptView::setFollow(bool follow)
{
    m_follow = follow;
    placeJump();
}

void TranscriptView::placeJump()
{
    const bool shown = !m_follow && verticalScrollBar()->maximum() - verticalScrollBar()->value() > 40;
    m_jump->resize(m_jump->sizeHint());
    m_jump->move((width() - m_jump->width()) / 2, height() - m_jump->height() - 10);
    m_jump->setVisible(shown);
}

void TranscriptView::resizeEvent(QResizeEvent* event)
{
    QTableView::resizeEvent(event);
    if (event->oldSize().width() != event->size().width()) {
        for (auto& [id, cached] : m_layouts)
            cached.fresh = false;
        m_measured.clear();
    }
    measureVisible();
    placeJump();
}

void TranscriptView::scrollContentsBy(int dx, int dy)
{
    QTableView::scrollContentsBy(dx, dy);
    // Before anything is measured: what is measured above must not pull a reader who leaves the end back to it.
    if (!m_measuring && dy != 0)
        setFollow(verticalScrollBar()->value() >= verticalScrollBar()->maximum() - 2);
    measureVisible();
}

void TranscriptView::showEvent(QShowEvent* event)
{
    QTableView::showEvent(event);
    measureVisible();
}

void TranscriptView::changeEvent(QEvent* event)
{
    QTableView::changeEvent(event);
    if (event->type() == QEvent::FontChange || event->type() == QEvent::PaletteChange ||
        event->type() == QEvent::FontChange) {
        forgetLayouts();
        measureVisible();
        viewport()->update();
    }
}

void TranscriptView::scrollBy(int pixels)
{
    verticalScrollBar()->setValue(verticalScrollBar()->value() + pixels);
}

TextRange TranscriptView::selectionIn(int row) const
{
    const Place from = std::min(m_anchor, m_cursor);
    const Place to = std::max(m_anchor, m_cursor);
    if (from.row < 0 || row < from.row || row > to.row)
        return {};
    return {row == from.row ? from.position : 0, row == to.row ? to.position : (1 << 30)};
}

MessagePaint TranscriptView::paintState(int row, const QRect& rowRect) const
{
    MessagePaint state;
    const TranscriptItem& item = m_model->item(row);
    state.selection = selectionIn(row);
    const bool current = hasFocus() && currentIndex().row() == row;
    state.active = row == m_hoveredRow || current;
    state.focused = current;
    state.hoveredCode = row == m_hoveredRow ? m_hoveredCode : -1;
    state.clip = QRectF(viewport()->rect().intersected(rowRect)).translated(-rowRect.topLeft());
    const MessageLayout& layout = m_layouts.at(item.id).layout;
    const int token = m_markedMessage == item.id && m_markedToken >= 0     ? m_markedToken
                      : m_hoveredMessage == item.id && m_hoveredToken >= 0 ? m_hoveredToken
                                                                           : -1;
    if (token >= 0 && token < item.tokens.count())
        if (const std::optional<TextRange> shown = layout.shownRange(item.tokens.at(token)))
            state.marked = *shown;
    if (!m_needle.isEmpty()) {
        state.found = layout.find(m_needle);
        if (row == m_foundRow && !state.found.empty())
            state.currentFound = std::clamp(m_foundIndex, 0, static_cast<int>(state.found.size()) - 1);
    }
    return state;
}

void TranscriptView::highlightToken(qint64 message, int token)
{
    if (m_markedMessage == message && m_markedToken == token)
        return;
    m_markedMessage = message;
    m_markedToken = token;
    viewport()->update();
}

std::int64_t TranscriptView::currentMessage() const
{
    const int row = currentIndex().row();
    return m_model && row >= 0 && row < m_model->rowCount() ? m_model->item(row).id : 0;
}

}  // namespace tokenscope::ui
