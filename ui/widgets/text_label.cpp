#include "ui/widgets/text_label.h"

#include <QEvent>
#include <QPainter>

namespace tokenscope::ui {

TextLabel::TextLabel(const QString& text, FontRole font, ColorRole color, QWidget* parent)
    : QLabel(text, parent), m_font(font), m_color(color)
{
    setTextFormat(Qt::PlainText);  // a model's name may look like markup
    restyle();
}

void TextLabel::setColor(ColorRole color)
{
    m_color = color;
    restyle();
}

void TextLabel::setElided(bool elided)
{
    m_elided = elided;
    updateGeometry();
    update();
}

QSize TextLabel::minimumSizeHint() const
{
    const QSize hint = QLabel::minimumSizeHint();
    return m_elided ? QSize(fontMetrics().horizontalAdvance(QChar(0x2026)), hint.height()) : hint;
}

void TextLabel::restyle()
{
    if (m_restyling)
        return;
    m_restyling = true;
    setFont(roleFont(m_font));
    QPalette own = parentWidget() ? parentWidget()->palette() : palette();
    own.setColor(QPalette::WindowText, colorsOf(own).*m_color);
    setPalette(own);
    m_restyling = false;
}

bool TextLabel::event(QEvent* event)
{
    // Not passed to changeEvent; a font of its own hears of the application's in no other way.
    if (event->type() == QEvent::ApplicationFontChange)
        restyle();
    return QLabel::event(event);
}

void TextLabel::changeEvent(QEvent* event)
{
    QLabel::changeEvent(event);
    switch (event->type()) {
    case QEvent::ApplicationPaletteChange:
    case QEvent::PaletteChange:
    case QEvent::ParentChange:
        restyle();
        break;
    default:
        break;
    }
}

void TextLabel::paintEvent(QPaintEvent* event)
{
    if (!m_elided) {
        QLabel::paintEvent(event);
        return;
    }
    QPainter painter(this);
    painter.setPen(palette().color(QPalette::WindowText));
    const QString shown = fontMetrics().elidedText(text(), Qt::ElideRight, width());
    painter.drawText(rect(), static_cast<int>(alignment()) | Qt::TextSingleLine, shown);
    const QString tip = shown == text() ? QString() : text();
    if (toolTip() != tip)
        setToolTip(tip);
}

}  // namespace tokenscope::ui
