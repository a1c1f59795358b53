#include "ui/theme/desktop_scheme.h"

#include <QDBusConnection>
#include <QDBusMessage>
#include <QDBusPendingCallWatcher>
#include <QDBusPendingReply>

namespace tokenscope::ui {
namespace {

const QString kService = QStringLiteral("org.freedesktop.portal.Desktop");
const QString kPath = QStringLiteral("/org/freedesktop/portal/desktop");
const QString kInterface = QStringLiteral("org.freedesktop.portal.Settings");
const QString kSpace = QStringLiteral("org.freedesktop.appearance");
const QString kKey = QStringLiteral("color-scheme");

}  // namespace

DesktopScheme::DesktopScheme(QObject* parent) : QObject(parent)
{
    QDBusConnection bus = QDBusConnection::sessionBus();
    if (!bus.isConnected())
        return;
    // Qt D-Bus looks the slot's types up by name, and refuses the connection silently while nobody has named this one.
    qRegisterMetaType<QDBusVariant>("QDBusVariant");
    bus.connect(kService, kPath, kInterface, QStringLiteral("SettingChanged"), this,
                SLOT(settingChanged(QString, QString, QDBusVariant)));
    QDBusMessage ask = QDBusMessage::createMethodCall(kService, kPath, kInterface, QStringLiteral("Read"));
    ask << kSpace << kKey;
    auto* watcher = new QDBusPendingCallWatcher(bus.asyncCall(ask, 2000), this);
    connect(watcher, &QDBusPendingCallWatcher::finished, this, [this](QDBusPendingCallWatcher* call) {
        const QDBusPendingReply<QDBusVariant> reply = *call;
        if (reply.isValid())
            take(reply.value().variant());
        call->deleteLater();
    });
}

void DesktopScheme::settingChanged(const QString& space, const QString& key, const QDBusVariant& value)
{
    if (space == kSpace && key == kKey)
        take(value.variant());
}

void DesktopScheme::take(const QVariant& value)
{
    // Read() wraps the value in a second variant; ReadOne() and the signal do not.
    const QVariant inner = value.canConvert<QDBusVariant>() ? value.value<QDBusVariant>().variant() : value;
    const uint scheme = inner.toUInt();  // 0 no preference, 1 dark, 2 light
    const std::optional<bool> dark = scheme == 1   ? std::optional(true)
                                     : scheme == 2 ? std::optional(false)
                                                   : std::nullopt;
    if (dark == m_dark)
        return;
    m_dark = dark;
    emit changed();
}

}  // namespace tokenscope::ui
