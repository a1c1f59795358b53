#include "ui/theme/theme.h"

#include "ui/theme/desktop_scheme.h"
#include "ui/theme/fonts.h"
#include "ui/theme/style.h"

#include <QApplication>
#include <QToolTip>
#include <QWidget>

#include <algorithm>

namespace tokenscope::ui {

QString themeChoiceName(ThemeChoice choice)
{
    switch (choice) {
    case ThemeChoice::Light:
        return QStringLiteral("light");
    case ThemeChoice::Dark:
        return QStringLiteral("dark");
    case ThemeChoice::System:
        break;
    }
    return QStringLiteral("system");
}

ThemeChoice themeChoiceFromName(const QString& name)
{
    if (name == QLatin1String("light"))
        return ThemeChoice::Light;
    return name == QLatin1String("dark") ? ThemeChoice::Dark : ThemeChoice::System;
}

Theme::Theme(QObject* parent)
    : QObject(parent), m_desktop(new DesktopScheme(this)),
      m_systemDark(QApplication::palette().color(QPalette::Window).lightness() < 128)
{
    QApplication::setStyle(new Style);
    connect(m_desktop, &DesktopScheme::changed, this, &Theme::apply);
    apply();
}

void Theme::setChoice(ThemeChoice choice)
{
    if (choice == m_choice)
        return;
    m_choice = choice;
    apply();
}

void Theme::setScale(double scale)
{
    scale = std::clamp(scale, 0.8, 2.0);
    if (qFuzzyCompare(scale, m_scale))
        return;
    m_scale = scale;
    apply();
}

void Theme::larger()
{
    setScale(m_scale * 1.1);
}

void Theme::smaller()
{
    setScale(m_scale / 1.1);
}

void Theme::apply()
{
    m_dark =
        m_choice == ThemeChoice::Dark || (m_choice == ThemeChoice::System && m_desktop->dark().value_or(m_systemDark));
    const QPalette palette = toQPalette(m_dark ? darkPalette() : lightPalette());
    QApplication::setFont(applicationFont(m_scale));
    // Qt tells widgets with a font of their own nothing.
    const QWidgetList widgets = QApplication::allWidgets();
    for (QWidget* widget : widgets) {
        QEvent event(QEvent::ApplicationFontChange);
        QCoreApplication::sendEvent(widget, &event);
    }
    QApplication::setPalette(palette);
    QToolTip::setPalette(palette);
    QToolTip::setFont(roleFont(FontRole::Small));
    emit changed();
}

}  // namespace tokenscope::ui
