// The settings in force, as the window holds them: read from and kept in the preferences by their keys. The control bar
// changes them here; chat and loading read them here.
#pragma once

#include "engine/types/settings.h"
#include "ui/models/preferences.h"

#include <QObject>

namespace tokenscope::ui {

class AppSettings : public QObject {
    Q_OBJECT

public:
    explicit AppSettings(Preferences& preferences, QObject* parent = nullptr);

    const Settings& settings() const { return m_settings; }
    // The sentence of setSetting where the value is out of range; then nothing changes.
    Result<void> set(std::string_view key, std::string_view value);
    // All at once, as a panel that edits a copy gives them back.
    void replace(const Settings& settings);
    QString value(std::string_view key) const;

signals:
    void changed();

private:
    Preferences& m_preferences;
    Settings m_settings;
};

}  // namespace tokenscope::ui
