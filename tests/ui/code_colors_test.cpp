#include "ui/theme/fonts.h"
#include "ui/theme/palette.h"
#include "ui/widgets/code_colors.h"
#include "ui/widgets/rendered_text.h"

#include <gtest/gtest.h>

#include <QGlyphRun>
#include <QRawFont>
#include <QTextBlock>
#include <QTextDocument>
#include <QTextLayout>

namespace tokenscope::ui {
namespace {

QColor colorAt(const QTextDocument& document, int line, int column)
{
    for (const QTextLayout::FormatRange& range : document.findBlockByNumber(line).layout()->formats())
        if (column >= range.start && column < range.start + range.length)
            return range.format.foreground().color();
    return {};
}

TEST(CodeColors, ATextOfSeveralLinesIsATextInEachOfThem)
{
    const Palette& colors = lightPalette();
    const auto document =
        renderCode(QStringLiteral("def f():\n    \"\"\"Return 1 for\n    the class.\n    \"\"\"\n    return 1"),
                   QStringLiteral("python"), colors);
    EXPECT_EQ(colorAt(*document, 1, 4), colors.good);
    EXPECT_EQ(colorAt(*document, 1, 7), colors.good) << "a word that is a keyword elsewhere";
    EXPECT_EQ(colorAt(*document, 2, 8), colors.good);
    EXPECT_EQ(colorAt(*document, 3, 4), colors.good);
    EXPECT_EQ(colorAt(*document, 3, 6), colors.good);
    EXPECT_EQ(colorAt(*document, 4, 4), colors.accent) << "after its end";
}

TEST(Fonts, CodeShowsEveryCharacterAlone)
{
    const QFont font = roleFont(FontRole::Mono);
    QTextLayout layout(QStringLiteral("a <= b != c -> d"), font);
    layout.beginLayout();
    layout.createLine().setLineWidth(1000);
    layout.endLayout();
    QList<quint32> drawn;
    for (const QGlyphRun& run : layout.glyphRuns())
        drawn += run.glyphIndexes();
    EXPECT_EQ(drawn, QRawFont::fromFont(font).glyphIndexesForString(layout.text()));
}

}  // namespace
}  // namespace tokenscope::ui
