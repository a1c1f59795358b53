#include "ui/widgets/find_bar.h"

#include "ui/widgets/pill_button.h"
#include "ui/widgets/search_field.h"
#include "ui/widgets/text_label.h"
#include "ui/widgets/transcript_view.h"

#include <QHBoxLayout>
#include <QKeyEvent>

namespace tokenscope::ui {

FindBar::FindBar(TranscriptView& view, QWidget* parent) : Bar(Qt::BottomEdge, parent), m_view(view)
{
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(12, 6, 8, 7);
    row->setSpacing(4);
    m_field = new SearchField(tr("Find in this chat"), this);
    row->addWidget(m_field, 1);
    m_count = new TextLabel(QString(), FontRole::Small, &Palette::dim, this);
    m_count->setMinimumWidth(110);
    m_count->setAlignment(Qt::AlignCenter);
    row->addWidget(m_count);
    auto* previous = PillButton::icon(QStringLiteral("up"), tr("Previous (Shift+Enter)"), this);
    auto* following = PillButton::icon(QStringLiteral("down"), tr("Next (Enter)"), this);
    auto* closing = PillButton::icon(QStringLiteral("close"), tr("Close (Esc)"), this);
    row->addWidget(previous);
    row->addWidget(following);
    row->addWidget(closing);
    m_field->installEventFilter(this);
    connect(m_field, &QLineEdit::textChanged, this, &FindBar::search);
    connect(previous, &QPushButton::clicked, this, [this] { next(true); });
    connect(following, &QPushButton::clicked, this, [this] { next(false); });
    connect(closing, &QPushButton::clicked, this, &FindBar::close);
    hide();
}

void FindBar::open()
{
    const QString selected = m_view.selectedText();
    if (!selected.isEmpty() && !selected.contains(u'\n'))
        m_field->setText(selected);
    show();
    m_field->setFocus();
    m_field->selectAll();
    search();
}

void FindBar::close()
{
    hide();
    m_view.setFind(QString());
    m_view.setFocus();
}

void FindBar::search()
{
    const int messages = m_view.setFind(m_field->text());
    if (m_field->text().isEmpty())
        m_count->setText(QString());
    else if (messages == 0)
        m_count->setText(tr("not found"));
    else {
        m_count->setText(messages == 1 ? tr("in 1 message") : tr("in %1 messages").arg(messages));
        m_view.findNext(false);
    }
}

void FindBar::next(bool backwards)
{
    m_view.findNext(backwards);
}

bool FindBar::eventFilter(QObject* watched, QEvent* event)
{
    // While an answer is written the window's Esc stops it; in this field it closes the field.
    if (event->type() == QEvent::ShortcutOverride && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape) {
        event->accept();
        return true;
    }
    if (event->type() == QEvent::KeyPress) {
        const auto* key = static_cast<QKeyEvent*>(event);
        if (key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter) {
            next(key->modifiers() & Qt::ShiftModifier);
            return true;
        }
        if (key->key() == Qt::Key_Escape) {
            close();
            return true;
        }
    }
    return Bar::eventFilter(watched, event);
}

}  // namespace tokenscope::ui
