#include "ui/widgets/painting.h"

namespace tokenscope::ui {

void drawBox(QPainter& painter, const QRectF& box, double radius, const QColor& fill, const QColor& border)
{
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setBrush(fill.isValid() ? QBrush(fill) : QBrush(Qt::NoBrush));
    painter.setPen(border.isValid() ? QPen(border, 1.0) : QPen(Qt::NoPen));
    const QRectF inner = border.isValid() ? box.adjusted(0.5, 0.5, -0.5, -0.5) : box;
    painter.drawRoundedRect(inner, radius, radius);
    painter.restore();
}

void drawFocusRing(QPainter& painter, const QRectF& box, double radius, const Palette& colors)
{
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(colors.accent, 2.0));
    painter.drawRoundedRect(box.adjusted(1, 1, -1, -1), radius, radius);
    painter.restore();
}

bool byKeyboard(const QFocusEvent& event)
{
    return event.reason() == Qt::TabFocusReason || event.reason() == Qt::BacktabFocusReason ||
           event.reason() == Qt::ShortcutFocusReason;
}

QColor mixed(const QColor& a, const QColor& b, double share)
{
    const auto part = [share](int from, int to) { return qRound(from + (to - from) * share); };
    return QColor(part(a.red(), b.red()), part(a.green(), b.green()), part(a.blue(), b.blue()));
}

}  // namespace tokenscope::ui
