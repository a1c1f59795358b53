#include "ui/widgets/card.h"

#include "ui/widgets/painting.h"

namespace tokenscope::ui {

Card::Card(QWidget* parent) : QWidget(parent) {}

void Card::setDashed(bool dashed)
{
    m_dashed = dashed;
    update();
}

void Card::setHighlighted(bool highlighted)
{
    m_highlighted = highlighted;
    update();
}

void Card::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const Palette& colors = colorsOf(this);
    painter.setBrush(m_highlighted ? colors.accentSoft : colors.panel);
    QPen pen(m_highlighted ? colors.accent : colors.line, 1.0);
    if (m_dashed) {
        pen.setColor(m_highlighted ? colors.accent : mixed(colors.line, colors.faint, 0.35));
        pen.setDashPattern({4, 3});
    }
    painter.setPen(pen);
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), kCardRadius, kCardRadius);
}

Hairline::Hairline(Qt::Orientation orientation, QWidget* parent) : QWidget(parent)
{
    if (orientation == Qt::Horizontal)
        setFixedHeight(1);
    else
        setFixedWidth(1);
}

void Hairline::paintEvent(QPaintEvent*)
{
    QPainter(this).fillRect(rect(), colorsOf(this).line);
}

Bar::Bar(Qt::Edge hairline, QWidget* parent) : QWidget(parent), m_edge(hairline) {}

void Bar::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    const Palette& colors = colorsOf(this);
    painter.fillRect(rect(), colors.panel);
    QRect line = rect();
    switch (m_edge) {
    case Qt::TopEdge:
        line.setHeight(1);
        break;
    case Qt::BottomEdge:
        line.setTop(line.bottom());
        break;
    case Qt::LeftEdge:
        line.setWidth(1);
        break;
    case Qt::RightEdge:
        line.setLeft(line.right());
        break;
    }
    painter.fillRect(line, colors.line);
}

}  // namespace tokenscope::ui
