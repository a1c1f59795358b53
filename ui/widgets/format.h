// Numbers as people read them on the screen: the user's separators, fixed digits, units always.
#pragma once

#include <QString>

#include <cstdint>

namespace tokenscope::ui {

QString bytesText(std::uint64_t bytes);         // "92 MiB", "21.3 GiB"
QString millisecondsText(double milliseconds);  // "6.3 ms", "65 ms", "1.24 s"
QString tokensText(int tokens);                 // "8k", "4,096", "900": a context length, short
QString countText(qint64 count);                // with separators
// What people call a model: its file's name without the ending and the format, which stand elsewhere. general.name,
// which files carry too, is often a training run's.
QString modelTitle(const QString& path, const QString& mainType);
QString bitsText(double bitsPerWeight);              // "5.7 bits a weight"
QString shortTimeText(qint64 unixMs, qint64 nowMs);  // "now", "18:02", "Sat", "3 May"

}  // namespace tokenscope::ui
