// The shapes every own-painted widget is made of.
#pragma once

#include "ui/theme/metrics.h"
#include "ui/theme/palette.h"

#include <QFocusEvent>
#include <QPainter>
#include <QRectF>

namespace tokenscope::ui {

// A rounded box whose 1 px border lies inside `box`; an invalid colour leaves fill or border out.
void drawBox(QPainter& painter, const QRectF& box, double radius, const QColor& fill, const QColor& border = {});
void drawFocusRing(QPainter& painter, const QRectF& box, double radius, const Palette& colors);

// Whether a ring is due: a click or the window's own start needs none.
bool byKeyboard(const QFocusEvent& event);

// The colour between two others: 0 = a, 1 = b.
QColor mixed(const QColor& a, const QColor& b, double share);

}  // namespace tokenscope::ui
