#include "ui/models/app_settings.h"

namespace tokenscope::ui {
namespace {

QString preferenceKey(std::string_view key)
{
    return QStringLiteral("settings/") + QString::fromUtf8(key.data(), static_cast<qsizetype>(key.size()));
}

}  // namespace

AppSettings::AppSettings(Preferences& preferences, QObject* parent) : QObject(parent), m_preferences(preferences)
{
    for (const SettingInfo& info : settingTable()) {
        const QVariant stored = preferences.value(preferenceKey(info.key));
        // A value that is out of range by now (an edited file, an older version) is left at the default.
        if (stored.isValid())
            (void)setSetting(m_settings, info.key, stored.toString().toStdString());
    }
}

Result<void> AppSettings::set(std::string_view key, std::string_view value)
{
    if (const Result<void> done = setSetting(m_settings, key, value); !done)
        return done;
    m_preferences.setValue(preferenceKey(key), QString::fromUtf8(value.data(), static_cast<qsizetype>(value.size())));
    emit changed();
    return {};
}

void AppSettings::replace(const Settings& settings)
{
    for (const SettingInfo& info : settingTable()) {
        const std::string value = settingValue(settings, info.key);
        if (value != settingValue(m_settings, info.key))
            m_preferences.setValue(preferenceKey(info.key), QString::fromStdString(value));
    }
    m_settings = settings;
    emit changed();
}

QString AppSettings::value(std::string_view key) const
{
    return QString::fromStdString(settingValue(m_settings, key));
}

}  // namespace tokenscope::ui
