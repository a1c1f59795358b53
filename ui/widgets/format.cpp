#include "ui/widgets/format.h"

#include <QCoreApplication>
#include <QDateTime>
#include <QFileInfo>
#include <QLocale>

namespace tokenscope::ui {
namespace {

QString translated(const char* text)
{
    return QCoreApplication::translate("Format", text);
}

}  // namespace

QString bytesText(std::uint64_t bytes)
{
    constexpr double kKiB = 1024.0;
    const QLocale locale;
    double value = static_cast<double>(bytes);
    if (value < kKiB)
        return translated("%1 B").arg(bytes);
    if (value < kKiB * kKiB)
        return translated("%1 KiB").arg(locale.toString(value / kKiB, 'f', 0));
    if (value < kKiB * kKiB * kKiB)
        return translated("%1 MiB").arg(locale.toString(value / (kKiB * kKiB), 'f', 0));
    return translated("%1 GiB").arg(locale.toString(value / (kKiB * kKiB * kKiB), 'f', 1));
}

QString millisecondsText(double milliseconds)
{
    const QLocale locale;
    if (milliseconds >= 1000.0)
        return translated("%1 s").arg(locale.toString(milliseconds / 1000.0, 'f', milliseconds < 10000.0 ? 2 : 1));
    return translated("%1 ms").arg(locale.toString(milliseconds, 'f', milliseconds < 10.0 ? 1 : 0));
}

QString tokensText(int tokens)
{
    if (tokens >= 1024 && tokens % 1024 == 0)
        return translated("%1k").arg(tokens / 1024);
    return countText(tokens);
}

QString countText(qint64 count)
{
    return QLocale().toString(count);
}

QString modelTitle(const QString& path, const QString& mainType)
{
    const QString stem = QFileInfo(path).completeBaseName();
    for (const QChar separator : {u'.', u'-', u'_'})
        if (const QString ending = separator + mainType;
            !mainType.isEmpty() && stem.endsWith(ending, Qt::CaseInsensitive))
            return stem.chopped(ending.size());
    return stem;
}

QString bitsText(double bitsPerWeight)
{
    return translated("%1 bits a weight").arg(QLocale().toString(bitsPerWeight, 'f', 1));
}

QString shortTimeText(qint64 unixMs, qint64 nowMs)
{
    const QLocale locale;
    const QDateTime time = QDateTime::fromMSecsSinceEpoch(unixMs);
    const QDateTime now = QDateTime::fromMSecsSinceEpoch(nowMs);
    if (nowMs - unixMs < 60'000)
        return translated("now");
    const qint64 days = time.date().daysTo(now.date());
    if (days == 0)
        return time.toString(QStringLiteral("HH:mm"));
    if (days < 7)
        return locale.dayName(time.date().dayOfWeek(), QLocale::ShortFormat);
    return locale.toString(time.date(), time.date().year() == now.date().year() ? QStringLiteral("d MMM")
                                                                                : QStringLiteral("MMM yyyy"));
}

}  // namespace tokenscope::ui
