// The colours of the design (design/README.md), one value per token and theme. Widgets ask colorsOf(this), which judges
// by their own QPalette: a theme switch is one QApplication::setPalette, and nothing has to be told twice.
#pragma once

#include <QColor>
#include <QPalette>

class QWidget;

namespace tokenscope::ui {

struct Palette {
    bool dark;
    QColor bg, panel, raised;  // window; bars, cards and lists; popups
    QColor line, grid;         // borders; chart grid and empty bars
    QColor text, dim, faint;   // text; secondary; hints and axis labels
    QColor accent, onAccent;   // the one action colour; text on it
    QColor accentSoft;         // selected row
    QColor user, code;         // the user's bubble; code blocks
    QColor good, warn, bad;
    QColor s1, s2, s3, s3text, s4;  // series; s3text is text in the colour of series 3
};

// A token by name, for widgets that are told which colour to use.
using ColorRole = QColor Palette::*;

const Palette& lightPalette();
const Palette& darkPalette();

const Palette& colorsOf(const QPalette& palette);
const Palette& colorsOf(const QWidget* widget);

QPalette toQPalette(const Palette& colors);

// WCAG 2 contrast ratio, 1 … 21.
double contrastRatio(const QColor& a, const QColor& b);

}  // namespace tokenscope::ui
