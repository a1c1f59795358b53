// Line icons of our own (resources/icons, 24 grid, stroke 1.7), drawn in any colour at any size.
#pragma once

#include <QIcon>
#include <QPixmap>
#include <QRectF>
#include <QString>

class QColor;
class QPainter;
class QWidget;

namespace tokenscope::ui {

// `name` without folder and ending: "chat". An unknown name draws nothing (a test asks for every one that is used).
void drawIcon(QPainter& painter, const QRectF& place, const QString& name, const QColor& color);
QPixmap iconPixmap(const QString& name, const QColor& color, int logicalSize, qreal devicePixelRatio);
// For menus: the dim text colour, the faint one where disabled.
QIcon menuIcon(const QString& name, const QWidget* widget);
bool hasIcon(const QString& name);

}  // namespace tokenscope::ui
