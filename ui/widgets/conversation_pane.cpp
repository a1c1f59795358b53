#include "ui/widgets/conversation_pane.h"

#include "ui/theme/fonts.h"
#include "ui/widgets/format.h"
#include "ui/widgets/painting.h"
#include "ui/widgets/pill_button.h"
#include "ui/widgets/search_field.h"
#include "ui/widgets/text_label.h"

#include <QDateTime>
#include <QKeyEvent>
#include <QLineEdit>
#include <QStyledItemDelegate>
#include <QVBoxLayout>

namespace tokenscope::ui {
namespace {

class RowDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;

    QSize sizeHint(const QStyleOptionViewItem&, const QModelIndex&) const override { return {160, scaled(30)}; }

    QWidget* createEditor(QWidget* parent, const QStyleOptionViewItem&, const QModelIndex&) const override
    {
        auto* editor = new QLineEdit(parent);
        editor->setAccessibleName(QObject::tr("New name of the chat"));
        editor->setTextMargins(4, 0, 4, 0);
        return editor;
    }
    void updateEditorGeometry(QWidget* editor, const QStyleOptionViewItem& option, const QModelIndex&) const override
    {
        editor->setGeometry(option.rect);
    }

    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override
    {
        const Palette& colors = colorsOf(option.widget);
        const QRectF box = QRectF(option.rect);
        const bool selected = option.state & QStyle::State_Selected;
        if (selected || option.state & QStyle::State_MouseOver)
            drawBox(*painter, box, kRadius, selected ? colors.accentSoft : colors.grid);
        if (option.state & QStyle::State_HasFocus && option.state & QStyle::State_KeyboardFocusChange)
            drawFocusRing(*painter, box, kRadius, colors);
        QRectF content = box.adjusted(10, 0, -10, 0);
        painter->save();
        painter->setFont(roleFont(FontRole::Small));
        painter->setPen(colors.dim);
        const QString time =
            shortTimeText(index.data(ConversationModel::TimeRole).toLongLong(), QDateTime::currentMSecsSinceEpoch());
        painter->drawText(content, Qt::AlignRight | Qt::AlignVCenter, time);
        content.setRight(content.right() - painter->fontMetrics().horizontalAdvance(time) - 6);
        QFont font = roleFont(FontRole::Body);
        font.setWeight(QFont::Medium);
        painter->setFont(font);
        painter->setPen(colors.text);
        painter->drawText(
            content, Qt::AlignLeft | Qt::AlignVCenter,
            painter->fontMetrics().elidedText(index.data().toString(), Qt::ElideRight, qRound(content.width())));
        painter->restore();
    }
};

}  // namespace

ConversationList::ConversationList(QWidget* parent) : QListView(parent)
{
    setAccessibleName(tr("Conversations"));
    setFrameShape(QFrame::NoFrame);
    setEditTriggers(QAbstractItemView::EditKeyPressed);
    setSelectionMode(QAbstractItemView::SingleSelection);
    setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setUniformItemSizes(true);
    setMouseTracking(true);
    viewport()->setBackgroundRole(QPalette::Window);
    setItemDelegate(new RowDelegate(this));
    setContextMenuPolicy(Qt::CustomContextMenu);
}

void ConversationList::keyPressEvent(QKeyEvent* event)
{
    if (state() != QAbstractItemView::EditingState && currentIndex().isValid()) {
        if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) {
            emit openPressed(currentIndex());
            return;
        }
        if (event->key() == Qt::Key_Delete) {
            emit removePressed(currentIndex());
            return;
        }
    }
    QListView::keyPressEvent(event);
}

void ConversationList::changeEvent(QEvent* event)
{
    QListView::changeEvent(event);
    if (event->type() == QEvent::FontChange)
        scheduleDelayedItemsLayout();
}

ConversationPane::ConversationPane(ConversationModel& model, QWidget* parent) : QWidget(parent), m_model(model)
{
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(8, 10, 8, 8);
    column->setSpacing(8);
    auto* newChat = new PillButton(PillButton::Kind::Secondary, tr("New chat"), this);
    newChat->setHint(QKeySequence(Qt::CTRL | Qt::Key_N).toString(QKeySequence::NativeText).replace(u'+', u' '));
    newChat->setLeftAligned(true);
    newChat->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    column->addWidget(newChat);
    m_search = new SearchField(tr("Search chats"), this);
    column->addWidget(m_search);
    m_list = new ConversationList(this);
    m_list->setModel(&model);
    m_empty = new TextLabel(QString(), FontRole::Small, &Palette::faint, this);
    m_empty->setWordWrap(true);
    m_empty->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    m_empty->setContentsMargins(10, 4, 4, 0);
    column->addWidget(m_empty);
    column->addWidget(m_list, 1);
    setMinimumWidth(150);

    connect(newChat, &QPushButton::clicked, this, &ConversationPane::newRequested);
    connect(m_search, &QLineEdit::textChanged, this, [this](const QString& text) {
        emit searchChanged(text);
        showEmpty();
    });
    connect(m_search, &SearchField::downPressed, m_list, [this] { m_list->setFocus(); });
    connect(m_search, &SearchField::escaped, m_list, [this] { m_list->setFocus(); });
    connect(m_list, &QListView::clicked, this,
            [this](const QModelIndex& index) { emit opened(m_model.idAt(index.row())); });
    connect(m_list, &ConversationList::openPressed, this,
            [this](const QModelIndex& index) { emit opened(m_model.idAt(index.row())); });
    connect(m_list, &ConversationList::removePressed, this,
            [this](const QModelIndex& index) { emit removeRequested(m_model.idAt(index.row())); });
    connect(m_list, &QWidget::customContextMenuRequested, this, [this](const QPoint& point) {
        const QModelIndex index = m_list->indexAt(point).isValid() ? m_list->indexAt(point) : m_list->currentIndex();
        if (index.isValid())
            emit menuRequested(m_model.idAt(index.row()), m_list->viewport()->mapToGlobal(point));
    });
    connect(&model, &QAbstractItemModel::modelReset, this, &ConversationPane::showEmpty);
    showEmpty();
}

void ConversationPane::showEmpty()
{
    const bool empty = m_model.rowCount() == 0;
    m_empty->setVisible(empty);
    m_empty->setText(m_search->text().isEmpty() ? tr("Your chats will be listed here.")
                                                : tr("No chat contains “%1”.").arg(m_search->text()));
}

void ConversationPane::setCurrent(std::optional<ConversationId> id)
{
    const std::optional<int> row = id ? m_model.rowOf(*id) : std::nullopt;
    if (row) {
        m_list->setCurrentIndex(m_model.index(*row));
    } else {
        m_list->selectionModel()->clear();
    }
}

std::optional<ConversationId> ConversationPane::current() const
{
    const QModelIndex index = m_list->currentIndex();
    return index.isValid() ? std::optional(m_model.idAt(index.row())) : std::nullopt;
}

void ConversationPane::renameCurrent()
{
    if (m_list->currentIndex().isValid()) {
        m_list->setFocus();
        m_list->edit(m_list->currentIndex());
    }
}

}  // namespace tokenscope::ui
