// Applies palette, font and style to the application, and again whenever the desktop or the user changes them.
// Made once by main.cpp, right after the QApplication.
#pragma once

#include "ui/theme/palette.h"

#include <QObject>
#include <QString>

namespace tokenscope::ui {

class DesktopScheme;

enum class ThemeChoice { System, Light, Dark };
QString themeChoiceName(ThemeChoice choice);  // "system", "light", "dark": for files and the command line
ThemeChoice themeChoiceFromName(const QString& name);

class Theme : public QObject {
    Q_OBJECT

public:
    explicit Theme(QObject* parent = nullptr);

    ThemeChoice choice() const { return m_choice; }
    void setChoice(ThemeChoice choice);
    bool dark() const { return m_dark; }

    // Text size in steps of about 10 %, 80 … 200 %.
    double scale() const { return m_scale; }
    void setScale(double scale);
    void larger();
    void smaller();

signals:
    void changed();  // palette or font; both are already set

private:
    void apply();

    DesktopScheme* m_desktop;  // a child
    ThemeChoice m_choice = ThemeChoice::System;
    bool m_systemDark = false;  // by the palette the platform gave, before ours replaced it
    bool m_dark = false;
    double m_scale = 1.0;
};

}  // namespace tokenscope::ui
