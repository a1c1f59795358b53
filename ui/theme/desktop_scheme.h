// Whether the desktop wants dark or light: the settings portal over D-Bus (org.freedesktop.portal.Settings,
// color-scheme) where it answers. Asks without waiting; `changed` comes when the answer does and whenever it changes.
#pragma once

#include <QDBusVariant>
#include <QObject>
#include <QString>

#include <optional>

namespace tokenscope::ui {

class DesktopScheme : public QObject {
    Q_OBJECT

public:
    explicit DesktopScheme(QObject* parent = nullptr);

    std::optional<bool> dark() const { return m_dark; }  // nullopt: no portal, or no preference

signals:
    void changed();

private slots:
    void settingChanged(const QString& space, const QString& key, const QDBusVariant& value);

private:
    void take(const QVariant& value);

    std::optional<bool> m_dark;
};

}  // namespace tokenscope::ui
