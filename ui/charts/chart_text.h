// Numbers as the scope writes them, with the user's separators.
#pragma once

#include <QLocale>
#include <QString>

#include <cmath>

namespace tokenscope::ui {

inline QString wholeNumber(double value)
{
    return QLocale().toString(static_cast<qlonglong>(std::llround(value)));
}

// Three figures: 0.42, 6.6, 110, 1,240; nothing is 0.
inline QString shortNumber(double value)
{
    const double size = std::abs(value);
    if (size == 0.0)
        return QStringLiteral("0");
    if (size >= 99.95)
        return wholeNumber(value);
    return QLocale().toString(value, 'f', size < 1.0 ? 2 : 1);
}

// A tick: no more digits than it needs.
inline QString axisNumber(double value)
{
    return std::abs(value) >= 10000.0 ? wholeNumber(value) : QLocale().toString(value, 'g', 4);
}

// Decimal multiples, as memory bandwidths are given: 23.0 kB, 61.9 MB.
inline QString decimalBytesText(double bytes)
{
    const char* const units[] = {"B", "kB", "MB", "GB", "TB"};
    int unit = 0;
    while (bytes >= 1000.0 && unit < 4) {
        bytes /= 1000.0;
        ++unit;
    }
    return (unit == 0 ? wholeNumber(bytes) : shortNumber(bytes)) + QStringLiteral(" ") + QLatin1String(units[unit]);
}

}  // namespace tokenscope::ui
