#include "ui/theme/fonts.h"
#include "ui/theme/icons.h"
#include "ui/theme/palette.h"
#include "ui/theme/theme.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QDir>
#include <QFontDatabase>
#include <QFontMetricsF>
#include <QImage>
#include <QPainter>

namespace tokenscope::ui {
namespace {

struct Named {
    const char* name;
    ColorRole role;
};
constexpr double kTextContrast = 4.5;
constexpr double kSeriesContrast = 3.0;

class ThemeTokens : public testing::TestWithParam<const Palette*> {};

TEST_P(ThemeTokens, TextIsReadableOnPanelAndBackground)
{
    const Palette& colors = *GetParam();
    for (const Named& token :
         {Named{"text", &Palette::text}, Named{"dim", &Palette::dim}, Named{"faint", &Palette::faint},
          Named{"accent", &Palette::accent}, Named{"good", &Palette::good}, Named{"warn", &Palette::warn},
          Named{"bad", &Palette::bad}, Named{"s3text", &Palette::s3text}}) {
        EXPECT_GE(contrastRatio(colors.*token.role, colors.panel), kTextContrast) << token.name << " on panel";
        EXPECT_GE(contrastRatio(colors.*token.role, colors.bg), kTextContrast) << token.name << " on bg";
    }
    EXPECT_GE(contrastRatio(colors.onAccent, colors.accent), kTextContrast);
    EXPECT_GE(contrastRatio(colors.text, colors.user), kTextContrast);
    EXPECT_GE(contrastRatio(colors.text, colors.code), kTextContrast);
    EXPECT_GE(contrastRatio(colors.text, colors.accentSoft), kTextContrast);
}

TEST_P(ThemeTokens, SeriesStandOutFromThePanel)
{
    const Palette& colors = *GetParam();
    for (const Named& token :
         {Named{"s1", &Palette::s1}, Named{"s2", &Palette::s2}, Named{"s3", &Palette::s3}, Named{"s4", &Palette::s4}})
        EXPECT_GE(contrastRatio(colors.*token.role, colors.panel), kSeriesContrast) << token.name;
}

TEST_P(ThemeTokens, AQPaletteLeadsBackToItsTokens)
{
    EXPECT_EQ(&colorsOf(toQPalette(*GetParam())), GetParam());
}

INSTANTIATE_TEST_SUITE_P(BothThemes, ThemeTokens, testing::Values(&lightPalette(), &darkPalette()),
                         [](const auto& theme) { return theme.param->dark ? "dark" : "light"; });

TEST(Theme, ChoiceAndTextSizeApplyWhileTheProgramRuns)
{
    Theme theme;
    theme.setChoice(ThemeChoice::Dark);
    EXPECT_EQ(QApplication::palette().color(QPalette::Window), darkPalette().bg);
    theme.setChoice(ThemeChoice::Light);
    EXPECT_EQ(QApplication::palette().color(QPalette::Window), lightPalette().bg);

    theme.setScale(2.0);
    EXPECT_EQ(QApplication::font().pixelSize(), 2 * kBodyPixels);
    EXPECT_EQ(roleFont(FontRole::Title).pixelSize(), 30);
    theme.setScale(99.0);
    EXPECT_EQ(theme.scale(), 2.0);
    theme.setScale(1.0);
}

TEST(Theme, FontsAreInstalledSoThatGlyphsAreNoBoxes)
{
    EXPECT_FALSE(QFontDatabase::families().isEmpty());
}

TEST(Fonts, TabularFiguresAllTakeTheSameWidth)
{
    const QFont font = roleFont(FontRole::Body);
    EXPECT_DOUBLE_EQ(tabularWidth(font, QStringLiteral("111.1 ms")), tabularWidth(font, QStringLiteral("888.8 ms")));
}

TEST(Icons, EveryIconDrawsInTheColourItIsGiven)
{
    ASSERT_TRUE(hasIcon(QStringLiteral("chat")));
    EXPECT_FALSE(hasIcon(QStringLiteral("no such icon")));
    const QStringList files = QDir(QStringLiteral(":/icons")).entryList();
    ASSERT_GT(files.size(), 10);
    for (const QString& file : files) {
        const QImage image = iconPixmap(QString(file).remove(QStringLiteral(".svg")), QColor(200, 30, 40), 24, 2.0)
                                 .toImage()
                                 .convertToFormat(QImage::Format_ARGB32);
        int inked = 0;
        for (int y = 0; y < image.height(); ++y)
            for (int x = 0; x < image.width(); ++x)
                if (const QColor pixel = image.pixelColor(x, y); pixel.alpha() > 200) {
                    ++inked;
                    EXPECT_NEAR(pixel.red(), 200, 8) << file.toStdString();
                }
        EXPECT_GT(inked, 20) << file.toStdString();
    }
}

}  // namespace
}  // namespace tokenscope::ui
