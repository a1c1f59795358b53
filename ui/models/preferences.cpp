#include "ui/models/preferences.h"

#include <QFileInfo>

namespace tokenscope::ui {
namespace {

constexpr int kRecentModels = 10;

}  // namespace

Preferences::Preferences(const std::filesystem::path& file)
{
    if (!file.empty())
        m_file = std::make_unique<QSettings>(QString::fromStdString(file.string()), QSettings::IniFormat);
}

QVariant Preferences::value(const QString& key, const QVariant& fallback) const
{
    return m_file ? m_file->value(key, fallback) : m_memory.value(key, fallback);
}

void Preferences::setValue(const QString& key, const QVariant& value)
{
    if (m_file)
        m_file->setValue(key, value);
    else
        m_memory.insert(key, value);
}

void Preferences::sync()
{
    if (m_file)
        m_file->sync();
}

QStringList Preferences::recentModels() const
{
    QStringList existing;
    for (const QString& path : value(QStringLiteral("models/recent")).toStringList())
        if (QFileInfo::exists(path))
            existing.append(path);
    return existing;
}

void Preferences::addRecentModel(const QString& path)
{
    QStringList recent = recentModels();
    recent.removeAll(path);
    recent.prepend(path);
    setValue(QStringLiteral("models/recent"), QStringList(recent.mid(0, kRecentModels)));
}

void Preferences::forgetRecentModels()
{
    setValue(QStringLiteral("models/recent"), QStringList());
}

QStringList Preferences::modelFolders() const
{
    return value(QStringLiteral("models/folders")).toStringList();
}

void Preferences::addModelFolder(const QString& path)
{
    QStringList folders = modelFolders();
    if (!folders.contains(path))
        folders.append(path);
    setValue(QStringLiteral("models/folders"), folders);
}

}  // namespace tokenscope::ui
