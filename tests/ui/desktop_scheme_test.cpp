// The desktop changes between light and dark while the program runs, told by a settings portal on a bus of the test's
// own.
#include "ui/theme/theme.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QDBusConnection>
#include <QDBusMessage>
#include <QDBusVariant>
#include <QPalette>
#include <QProcess>
#include <QTest>

namespace tokenscope::ui {
namespace {

const QString kPath = QStringLiteral("/org/freedesktop/portal/desktop");
const QString kInterface = QStringLiteral("org.freedesktop.portal.Settings");
const QString kSpace = QStringLiteral("org.freedesktop.appearance");
const QString kKey = QStringLiteral("color-scheme");

class FakePortal : public QObject {
    Q_OBJECT
    Q_CLASSINFO("D-Bus Interface", "org.freedesktop.portal.Settings")

public:
    explicit FakePortal(QDBusConnection bus) : m_bus(std::move(bus)) {}

    bool start()
    {
        return m_bus.registerObject(kPath, this, QDBusConnection::ExportAllSlots) &&
               m_bus.registerService(QStringLiteral("org.freedesktop.portal.Desktop"));
    }
    void change(uint value)
    {
        scheme = value;
        QDBusMessage told = QDBusMessage::createSignal(kPath, kInterface, QStringLiteral("SettingChanged"));
        told << kSpace << kKey << QVariant::fromValue(QDBusVariant(value));
        m_bus.send(told);
    }
    uint scheme = 1;  // 0 no preference, 1 dark, 2 light

public slots:
    // As the portal does it: a variant in a variant.
    QDBusVariant Read(const QString& space, const QString& key)
    {
        return QDBusVariant(
            QVariant::fromValue(QDBusVariant(space == kSpace && key == kKey ? QVariant(scheme) : QVariant(0u))));
    }

private:
    QDBusConnection m_bus;
};

TEST(DesktopScheme, TheWindowFollowsTheDesktopWhileItRuns)
{
    QProcess daemon;
    daemon.start(QStringLiteral("dbus-daemon"),
                 {QStringLiteral("--session"), QStringLiteral("--nofork"), QStringLiteral("--print-address")});
    if (!daemon.waitForStarted() || !daemon.waitForReadyRead(10'000))
        GTEST_SKIP() << "there is no dbus-daemon here";
    const QString address = QString::fromUtf8(daemon.readLine()).trimmed();
    qputenv("DBUS_SESSION_BUS_ADDRESS", address.toUtf8());
    QDBusConnection::disconnectFromBus(QStringLiteral("qt_default_session_bus"));
    FakePortal portal(QDBusConnection::connectToBus(address, QStringLiteral("portal")));
    ASSERT_TRUE(portal.start());
    ASSERT_TRUE(QDBusConnection::sessionBus().isConnected());
    {
        Theme theme;
        const auto shows = [&](const Palette& colors) {
            return QTest::qWaitFor([&] { return QApplication::palette().color(QPalette::Window) == colors.bg; });
        };
        EXPECT_TRUE(shows(darkPalette())) << "as the desktop is at the start";
        portal.change(2);
        EXPECT_TRUE(shows(lightPalette()));
        portal.change(1);
        EXPECT_TRUE(shows(darkPalette()));
        theme.setChoice(ThemeChoice::Light);  // the user's word counts more
        EXPECT_TRUE(shows(lightPalette()));
        portal.change(2);
        portal.change(1);
        QTest::qWait(100);
        EXPECT_EQ(QApplication::palette().color(QPalette::Window), lightPalette().bg);
        theme.setChoice(ThemeChoice::System);
        EXPECT_TRUE(shows(darkPalette()));
        theme.setChoice(ThemeChoice::Light);
    }
    QDBusConnection::disconnectFromBus(QStringLiteral("portal"));
    QDBusConnection::disconnectFromBus(QStringLiteral("qt_default_session_bus"));
    qunsetenv("DBUS_SESSION_BUS_ADDRESS");
    daemon.terminate();
    daemon.waitForFinished();
}

}  // namespace
}  // namespace tokenscope::ui

#include "desktop_scheme_test.moc"
