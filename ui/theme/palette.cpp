#include "ui/theme/palette.h"

#include <QWidget>

#include <algorithm>
#include <cmath>

namespace tokenscope::ui {

const Palette& lightPalette()
{
    static const Palette colors{
        .dark = false,
        .bg = QColor(0xF4, 0xF5, 0xF7),
        .panel = QColor(0xFF, 0xFF, 0xFF),
        .raised = QColor(0xFF, 0xFF, 0xFF),
        .line = QColor(0xDF, 0xE2, 0xE8),
        .grid = QColor(0xEC, 0xEE, 0xF2),
        .text = QColor(0x1B, 0x1F, 0x27),
        .dim = QColor(0x56, 0x60, 0x6E),
        .faint = QColor(0x66, 0x70, 0x7E),
        .accent = QColor(0x1F, 0x5F, 0xD6),
        .onAccent = QColor(0xFF, 0xFF, 0xFF),
        .accentSoft = QColor(0xE6, 0xEE, 0xFD),
        .user = QColor(0xEA, 0xF0, 0xFB),
        .code = QColor(0xF1, 0xF3, 0xF6),
        .good = QColor(0x15, 0x73, 0x4A),
        .warn = QColor(0x8A, 0x5A, 0x0B),
        .bad = QColor(0xB9, 0x36, 0x2F),
        .s1 = QColor(0x2F, 0x6F, 0xEB),
        .s2 = QColor(0x0B, 0x77, 0x68),
        .s3 = QColor(0xD9, 0x73, 0x0D),
        .s3text = QColor(0xA6, 0x56, 0x0A),
        .s4 = QColor(0x7E, 0x3F, 0xB8),
    };
    return colors;
}

const Palette& darkPalette()
{
    static const Palette colors{
        .dark = true,
        .bg = QColor(0x14, 0x17, 0x1C),
        .panel = QColor(0x1B, 0x1F, 0x26),
        .raised = QColor(0x22, 0x27, 0x30),
        .line = QColor(0x2E, 0x34, 0x40),
        .grid = QColor(0x26, 0x2C, 0x36),
        .text = QColor(0xE6, 0xE9, 0xEF),
        .dim = QColor(0xA3, 0xAC, 0xBA),
        .faint = QColor(0x8A, 0x94, 0xA4),
        .accent = QColor(0x6C, 0xA0, 0xFF),
        .onAccent = QColor(0x0E, 0x14, 0x20),
        .accentSoft = QColor(0x23, 0x32, 0x50),
        .user = QColor(0x23, 0x2B, 0x3A),
        .code = QColor(0x16, 0x1A, 0x20),
        .good = QColor(0x4C, 0xC3, 0x8A),
        .warn = QColor(0xE2, 0xB4, 0x57),
        .bad = QColor(0xF0, 0x7A, 0x72),
        .s1 = QColor(0x6C, 0xA0, 0xFF),
        .s2 = QColor(0x2F, 0xA7, 0x96),
        .s3 = QColor(0xF0, 0xA3, 0x5E),
        .s3text = QColor(0xF0, 0xA3, 0x5E),
        .s4 = QColor(0xC0, 0x8C, 0xF0),
    };
    return colors;
}

const Palette& colorsOf(const QPalette& palette)
{
    return palette.color(QPalette::Active, QPalette::Window).lightness() < 128 ? darkPalette() : lightPalette();
}

const Palette& colorsOf(const QWidget* widget)
{
    return colorsOf(widget->palette());
}

QPalette toQPalette(const Palette& colors)
{
    QPalette palette;
    const auto set = [&palette](QPalette::ColorRole role, const QColor& color) {
        palette.setColor(QPalette::All, role, color);
    };
    set(QPalette::Window, colors.bg);
    set(QPalette::WindowText, colors.text);
    set(QPalette::Base, colors.panel);
    set(QPalette::AlternateBase, colors.bg);
    set(QPalette::Text, colors.text);
    set(QPalette::Button, colors.panel);
    set(QPalette::ButtonText, colors.text);
    set(QPalette::BrightText, colors.bad);
    set(QPalette::Highlight, colors.accent);
    set(QPalette::HighlightedText, colors.onAccent);
    set(QPalette::Link, colors.accent);
    set(QPalette::LinkVisited, colors.accent);
    set(QPalette::PlaceholderText, colors.faint);
    set(QPalette::ToolTipBase, colors.raised);
    set(QPalette::ToolTipText, colors.text);
    // Fusion draws bevels with these; near the border colour they become hairlines.
    set(QPalette::Light, colors.panel);
    set(QPalette::Midlight, colors.grid);
    set(QPalette::Mid, colors.line);
    set(QPalette::Dark, colors.line.darker(colors.dark ? 80 : 115));
    set(QPalette::Shadow, colors.dark ? QColor(0, 0, 0, 160) : QColor(27, 31, 39, 60));
    for (const QPalette::ColorRole role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
        palette.setColor(QPalette::Disabled, role, colors.faint);
    palette.setColor(QPalette::Disabled, QPalette::Highlight, colors.grid);
    palette.setColor(QPalette::Disabled, QPalette::HighlightedText, colors.dim);
    return palette;
}

double contrastRatio(const QColor& a, const QColor& b)
{
    const auto luminance = [](const QColor& color) {
        const auto linear = [](double v) { return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4); };
        return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF()) + 0.0722 * linear(color.blueF());
    };
    const double la = luminance(a);
    const double lb = luminance(b);
    return (std::max(la, lb) + 0.05) / (std::min(la, lb) + 0.05);
}

}  // namespace tokenscope::ui
