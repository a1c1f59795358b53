// What the window remembers: an INI file in the configuration folder. Without a file (screenshots, tests) it remembers
// until the program ends and touches nothing of the user's.
#pragma once

#include <QSettings>
#include <QString>
#include <QStringList>
#include <QVariantMap>

#include <filesystem>
#include <memory>

namespace tokenscope::ui {

class Preferences {
public:
    explicit Preferences(const std::filesystem::path& file = {});

    QVariant value(const QString& key, const QVariant& fallback = {}) const;
    void setValue(const QString& key, const QVariant& value);
    void sync();

    // Newest first, at most ten, only files that exist.
    QStringList recentModels() const;
    void addRecentModel(const QString& path);
    void forgetRecentModels();

    QStringList modelFolders() const;
    void addModelFolder(const QString& path);

private:
    std::unique_ptr<QSettings> m_file;
    QVariantMap m_memory;
};

}  // namespace tokenscope::ui
