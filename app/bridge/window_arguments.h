// The window's command line (cli.md). Parsed before there is a QApplication, so that --help, --version and wrong use
// answer without a display.
#pragma once

#include "engine/base/result.h"

#include <QSize>
#include <QString>
#include <QStringList>

namespace tokenscope {

struct WindowArguments {
    QStringList files;      // MODEL, or text files to attach
    QString dataDirectory;  // empty: the usual one
    QString screenshot;     // empty: a window to work with
    QString page = QStringLiteral("chat");
    QString theme;  // "", "light", "dark"
    QSize size{1280, 800};
    double scale = 1.0;
    QString prompt;
    bool help = false;
    bool version = false;

    bool forScreenshot() const { return !screenshot.isEmpty(); }
};

// BadInput with a sentence that names the option. `arguments` without the program's name; Qt's own (-platform …) are
// skipped.
Result<WindowArguments> parseWindowArguments(const QStringList& arguments);
QString windowHelp();

}  // namespace tokenscope
