#include "ui/widgets/rail.h"

#include "ui/theme/fonts.h"
#include "ui/theme/icons.h"
#include "ui/widgets/painting.h"

#include <QButtonGroup>
#include <QVBoxLayout>

namespace tokenscope::ui {

RailButton::RailButton(const QString& icon, const QString& name, QWidget* parent)
    : QAbstractButton(parent), m_icon(icon)
{
    setText(name);
    setAccessibleName(name);
    setCheckable(true);
    setFocusPolicy(Qt::TabFocus);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

QSize RailButton::sizeHint() const
{
    return {52, qMax(50, scaled(50))};
}

void RailButton::focusInEvent(QFocusEvent* event)
{
    QAbstractButton::focusInEvent(event);
    m_ring = byKeyboard(*event);
}

void RailButton::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    const Palette& colors = colorsOf(this);
    const QColor ink = isChecked() ? colors.accent : colors.dim;
    if (isChecked() || underMouse())
        drawBox(painter, rect(), kRadius, isChecked() ? colors.accentSoft : colors.grid);
    painter.setRenderHint(QPainter::Antialiasing);
    const double icon = scaled(22);
    drawIcon(painter, QRectF((width() - icon) / 2.0, 7, icon, icon), m_icon, ink);
    painter.setFont(roleFont(FontRole::Axis));
    painter.setPen(ink);
    painter.drawText(QRectF(0, 7 + icon, width(), height() - icon - 9), Qt::AlignHCenter | Qt::AlignVCenter, text());
    if (hasFocus() && m_ring)
        drawFocusRing(painter, rect(), kRadius, colors);
}

Rail::Rail(QWidget* parent)
    : Bar(Qt::RightEdge, parent), m_column(new QVBoxLayout(this)), m_pages(new QButtonGroup(this))
{
    setFixedWidth(64);
    m_column->setContentsMargins(6, 10, 7, 10);
    m_column->setSpacing(2);
    m_column->addStretch(1);
    connect(m_pages, &QButtonGroup::idClicked, this, &Rail::pageChosen);
}

void Rail::addPage(const QString& icon, const QString& name)
{
    const int page = static_cast<int>(m_pages->buttons().size());
    auto* button = new RailButton(icon, name, this);
    button->setChecked(page == 0);
    m_pages->addButton(button, page);
    m_column->insertWidget(page, button);
}

void Rail::setCurrent(int page)
{
    if (QAbstractButton* button = m_pages->button(page))
        button->setChecked(true);
}

}  // namespace tokenscope::ui
