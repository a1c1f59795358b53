#include "ui/theme/fonts.h"

#include <QApplication>
#include <QFontDatabase>
#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>

namespace tokenscope::ui {
namespace {

QString firstInstalled(std::initializer_list<QString> names, const QString& fallback)
{
    static const QStringList families = QFontDatabase::families();  // several hundred strings, asked for often
    for (const QString& name : names)
        if (families.contains(name))
            return name;
    return fallback;
}

double digitWidth(const QFontMetricsF& metrics)
{
    double widest = 0.0;
    for (char16_t digit = u'0'; digit <= u'9'; ++digit)
        widest = std::max(widest, metrics.horizontalAdvance(QChar(digit)));
    return widest;
}

// Calls `place(text, x)` for each digit alone and each run between digits.
template <typename Place>
double layOut(const QFontMetricsF& metrics, const QString& text, Place place)
{
    const double cell = digitWidth(metrics);
    double x = 0.0;
    for (qsizetype i = 0; i < text.size();) {
        qsizetype end = i + 1;
        if (text[i].isDigit()) {
            place(text.mid(i, 1), x + (cell - metrics.horizontalAdvance(text[i])) / 2);
            x += cell;
        } else {
            while (end < text.size() && !text[end].isDigit())
                ++end;
            const QString run = text.mid(i, end - i);
            place(run, x);
            x += metrics.horizontalAdvance(run);
        }
        i = end;
    }
    return x;
}

}  // namespace

QFont applicationFont(double scale)
{
    QFont font(
        firstInstalled({QStringLiteral("Inter")}, QFontDatabase::systemFont(QFontDatabase::GeneralFont).family()));
    font.setPixelSize(std::max(8, qRound(kBodyPixels * scale)));
    font.setHintingPreference(QFont::PreferNoHinting);
    return font;
}

double textScale()
{
    const QFont font = QApplication::font();
    return font.pixelSize() > 0 ? font.pixelSize() / static_cast<double>(kBodyPixels) : 1.0;
}

int scaled(int pixels)
{
    return qRound(pixels * textScale());
}

QFont roleFont(FontRole role)
{
    QFont font = QApplication::font();
    const auto size = [&font](int pixels) { font.setPixelSize(std::max(8, scaled(pixels))); };
    switch (role) {
    case FontRole::Body:
        size(13);
        break;
    case FontRole::BodyStrong:
        size(13);
        font.setWeight(QFont::DemiBold);
        break;
    case FontRole::Small:
        size(11);
        break;
    case FontRole::SmallStrong:
        size(11);
        font.setWeight(QFont::DemiBold);
        break;
    case FontRole::Axis:
        size(10);
        break;
    case FontRole::Title:
        size(15);
        font.setWeight(QFont::DemiBold);
        break;
    case FontRole::Big:
        size(17);
        font.setWeight(QFont::DemiBold);
        break;
    case FontRole::Headline:
        size(24);
        font.setWeight(QFont::Bold);
        break;
    case FontRole::Mono:
        font = QFont(firstInstalled({QStringLiteral("JetBrains Mono")},
                                    QFontDatabase::systemFont(QFontDatabase::FixedFont).family()));
        font.setStyleHint(QFont::Monospace);
        font.setFixedPitch(true);
        // No ligatures: "<=" in code is two characters, to read and to find, also where the font has one sign for it.
        font.setStyleStrategy(QFont::PreferNoShaping);
        size(12);
        break;
    }
    return font;
}

double tabularWidth(const QFont& font, const QString& text)
{
    return layOut(QFontMetricsF(font), text, [](const QString&, double) {});
}

void drawTabular(QPainter& painter, const QPointF& baseline, const QString& text)
{
    layOut(QFontMetricsF(painter.font()), text,
           [&](const QString& run, double x) { painter.drawText(baseline + QPointF(x, 0), run); });
}

}  // namespace tokenscope::ui
