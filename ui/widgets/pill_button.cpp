#include "ui/widgets/pill_button.h"

#include "ui/theme/fonts.h"
#include "ui/theme/icons.h"
#include "ui/widgets/painting.h"

#include <QEvent>
#include <QKeySequence>

namespace tokenscope::ui {
namespace {

constexpr int kIconSize = 16;

}  // namespace

PillButton::PillButton(Kind kind, const QString& text, QWidget* parent) : QPushButton(text, parent), m_kind(kind)
{
    setCursor(kind == Kind::Link ? Qt::PointingHandCursor : Qt::ArrowCursor);
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
    setAutoDefault(false);
}

PillButton* PillButton::icon(const QString& icon, const QString& name, QWidget* parent)
{
    auto* button = new PillButton(Kind::Icon, QString(), parent);
    button->setIconName(icon);
    button->setToolTip(name);
    button->setAccessibleName(name);
    return button;
}

void PillButton::setIconName(const QString& icon)
{
    m_icon = icon;
    updateGeometry();
    update();
}

void PillButton::setHint(const QString& hint)
{
    m_hint = hint;
    updateGeometry();
    update();
}

void PillButton::setLeftAligned(bool left)
{
    m_left = left;
    update();
}

QFont PillButton::labelFont() const
{
    return roleFont(m_kind == Kind::Primary ? FontRole::BodyStrong : FontRole::Body);
}

QSize PillButton::sizeHint() const
{
    const int height = scaled(28);
    if (m_kind == Kind::Icon)
        return {height, height};
    const QFontMetrics metrics(labelFont());
    const QString shown = QString(text()).remove(QLatin1Char('&'));
    int width = metrics.horizontalAdvance(shown) + (m_kind == Kind::Link ? 8 : 24);
    if (!m_icon.isEmpty())
        width += scaled(kIconSize) + (shown.isEmpty() ? 0 : 6);
    if (!m_hint.isEmpty())
        width += 14 + QFontMetrics(roleFont(FontRole::Small)).horizontalAdvance(m_hint);
    return {width + (m_kind == Kind::Primary ? 4 : 0), m_kind == Kind::Link ? scaled(22) : height};
}

QSize PillButton::minimumSizeHint() const
{
    return sizeHint();
}

void PillButton::changeEvent(QEvent* event)
{
    QPushButton::changeEvent(event);
    if (event->type() == QEvent::FontChange)
        updateGeometry();
}

void PillButton::enterEvent(QEnterEvent* event)
{
    QPushButton::enterEvent(event);
    update();
}

void PillButton::focusInEvent(QFocusEvent* event)
{
    QPushButton::focusInEvent(event);
    m_ring = byKeyboard(*event);
}

void PillButton::leaveEvent(QEvent* event)
{
    QPushButton::leaveEvent(event);
    update();
}

void PillButton::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    const Palette& colors = colorsOf(this);
    const QRectF box = rect();
    const bool hovered = underMouse() && isEnabled();
    const bool pressed = isDown() && isEnabled();
    QColor ink = isEnabled() ? colors.text : colors.faint;
    switch (m_kind) {
    case Kind::Primary: {
        QColor fill = isEnabled() ? colors.accent : colors.grid;
        if (pressed || hovered)
            fill = mixed(fill, colors.dark ? QColor(Qt::white) : QColor(Qt::black), pressed ? 0.18 : 0.08);
        drawBox(painter, box, kRadius, fill);
        ink = isEnabled() ? colors.onAccent : colors.faint;
        break;
    }
    case Kind::Secondary: {
        QColor fill = colors.panel;
        if (pressed || hovered || isChecked())
            fill = mixed(colors.panel, colors.accentSoft, pressed || isChecked() ? 1.0 : 0.5);
        drawBox(painter, box, kRadius, fill, isChecked() ? colors.accent : colors.line);
        break;
    }
    case Kind::Icon:
        if (hovered || pressed || isChecked())
            drawBox(painter, box, kRadius, pressed || isChecked() ? colors.accentSoft : colors.grid);
        ink = isChecked() ? colors.accent : isEnabled() ? colors.dim : mixed(colors.faint, colors.panel, 0.4);
        break;
    case Kind::Link:
        ink = isEnabled() ? colors.accent : colors.faint;
        break;
    }

    QFont font = labelFont();
    font.setUnderline(m_kind == Kind::Link && hovered);
    painter.setFont(font);
    const QString shown = QString(text()).remove(QLatin1Char('&'));
    const double padding = m_kind == Kind::Link ? 4 : 12;
    QRectF content = box.adjusted(padding, 0, -padding, 0);
    if (!m_hint.isEmpty()) {
        painter.save();
        painter.setFont(roleFont(FontRole::Small));
        painter.setPen(m_kind == Kind::Primary ? ink : colors.dim);
        painter.drawText(content, Qt::AlignRight | Qt::AlignVCenter, m_hint);
        content.setRight(content.right() - painter.fontMetrics().horizontalAdvance(m_hint) - 10);
        painter.restore();
    }
    const double iconSize = m_icon.isEmpty() ? 0 : scaled(m_kind == Kind::Icon ? 18 : kIconSize);
    const double gap = iconSize > 0 && !shown.isEmpty() ? 6 : 0;
    const double textWidth = painter.fontMetrics().horizontalAdvance(shown);
    double x = content.left();
    if (!m_left)
        x = m_kind == Kind::Icon ? box.center().x() - iconSize / 2
                                 : content.left() + qMax(0.0, (content.width() - iconSize - gap - textWidth) / 2);
    if (iconSize > 0)
        drawIcon(painter, QRectF(x, box.center().y() - iconSize / 2, iconSize, iconSize), m_icon, ink);
    painter.setPen(ink);
    const double textLeft = x + iconSize + gap;
    if (!shown.isEmpty())
        painter.drawText(QRectF(textLeft, box.top(), content.right() - textLeft + 2, box.height()),
                         Qt::AlignLeft | Qt::AlignVCenter, shown);
    if (hasFocus() && m_ring)
        drawFocusRing(painter, box, kRadius, colors);
}

}  // namespace tokenscope::ui
