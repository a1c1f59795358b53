// The type scale. Everything is derived from the application's font, whose pixel size carries the user's text size.
#pragma once

#include <QFont>
#include <QString>

class QPainter;
class QPointF;

namespace tokenscope::ui {

enum class FontRole { Body, BodyStrong, Small, SmallStrong, Axis, Title, Big, Mono, Headline };

inline constexpr int kBodyPixels = 13;

// Inter where it is installed, else the system's own; `textScale` 1 = 13 pixels.
QFont applicationFont(double textScale);
QFont roleFont(FontRole role);
double textScale();      // of the application's font now
int scaled(int pixels);  // a length that grows with the text

// Figures of equal width: Qt 6.4 cannot switch on Inter's tabular figures, so each digit gets a cell of the widest.
double tabularWidth(const QFont& font, const QString& text);
void drawTabular(QPainter& painter, const QPointF& baseline, const QString& text);  // with the painter's font

}  // namespace tokenscope::ui
