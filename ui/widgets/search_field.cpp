#include "ui/widgets/search_field.h"

#include "ui/theme/fonts.h"
#include "ui/theme/icons.h"
#include "ui/widgets/painting.h"

#include <QKeyEvent>
#include <QPainter>

namespace tokenscope::ui {

SearchField::SearchField(const QString& placeholder, QWidget* parent) : QLineEdit(parent)
{
    setFrame(false);
    setAcceptDrops(false);  // a model file that is dropped here is to be loaded, not searched for
    setPlaceholderText(placeholder);
    setAccessibleName(placeholder);
    setTextMargins(28, 0, 8, 0);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    restyle();
}

QSize SearchField::sizeHint() const
{
    return {160, scaled(30)};
}

void SearchField::restyle()
{
    if (m_restyling)
        return;
    m_restyling = true;
    QPalette own = parentWidget() ? parentWidget()->palette() : palette();
    own.setColor(QPalette::Base, Qt::transparent);
    setPalette(own);
    m_restyling = false;
    updateGeometry();
}

void SearchField::changeEvent(QEvent* event)
{
    QLineEdit::changeEvent(event);
    if (event->type() == QEvent::ApplicationPaletteChange || event->type() == QEvent::PaletteChange ||
        event->type() == QEvent::ParentChange || event->type() == QEvent::FontChange)
        restyle();
}

void SearchField::paintEvent(QPaintEvent* event)
{
    {
        QPainter painter(this);
        const Palette& colors = colorsOf(this);
        drawBox(painter, rect(), kRadius, colors.panel, colors.line);
        drawIcon(painter, QRectF(9, (height() - 15) / 2.0, 15, 15), QStringLiteral("search"), colors.faint);
        if (hasFocus())
            drawFocusRing(painter, rect(), kRadius, colors);
    }
    QLineEdit::paintEvent(event);
}

bool SearchField::event(QEvent* event)
{
    // Before the window's Esc, which stops an answer.
    if (event->type() == QEvent::ShortcutOverride && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape) {
        event->accept();
        return true;
    }
    return QLineEdit::event(event);
}

void SearchField::keyPressEvent(QKeyEvent* event)
{
    if (event->key() == Qt::Key_Escape) {
        if (text().isEmpty())
            emit escaped();
        else
            clear();
        return;
    }
    if (event->key() == Qt::Key_Down) {
        emit downPressed();
        return;
    }
    QLineEdit::keyPressEvent(event);
}

}  // namespace tokenscope::ui
