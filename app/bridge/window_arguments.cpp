#include "app/bridge/window_arguments.h"

namespace tokenscope {
namespace {

tl::unexpected<Error> wrong(const QString& sentence)
{
    return fail(ErrorCode::BadInput, sentence.toStdString());
}

bool parseSize(const QString& text, QSize& size)
{
    const QStringList parts = text.toLower().split(u'x');
    bool good[2] = {false, false};
    if (parts.size() == 2)
        size = QSize(parts[0].toInt(&good[0]), parts[1].toInt(&good[1]));
    return good[0] && good[1] && size.width() >= 200 && size.height() >= 200 && size.width() <= 8000 &&
           size.height() <= 8000;
}

}  // namespace

Result<WindowArguments> parseWindowArguments(const QStringList& arguments)
{
    WindowArguments parsed;
    bool needsScreenshot = false;
    bool onlyFiles = false;
    for (qsizetype i = 0; i < arguments.size(); ++i) {
        QString name = arguments[i];
        if (onlyFiles || !name.startsWith(u'-') || name == QLatin1String("-")) {
            parsed.files << name;
            continue;
        }
        if (name == QLatin1String("--")) {
            onlyFiles = true;
            continue;
        }
        if (name == QLatin1String("--help") || name == QLatin1String("-h")) {
            parsed.help = true;
            continue;
        }
        if (name == QLatin1String("--version")) {
            parsed.version = true;
            continue;
        }
        QString value;
        const bool withEquals = name.startsWith(QLatin1String("--")) && name.contains(u'=');
        if (withEquals) {
            value = name.section(u'=', 1);
            name = name.section(u'=', 0, 0);
        }
        static const QStringList own{QStringLiteral("--data-dir"), QStringLiteral("--screenshot"),
                                     QStringLiteral("--page"),     QStringLiteral("--theme"),
                                     QStringLiteral("--size"),     QStringLiteral("--scale"),
                                     QStringLiteral("--prompt")};
        static const QStringList ofQt{QStringLiteral("-platform"), QStringLiteral("-style"), QStringLiteral("-display"),
                                      QStringLiteral("-geometry"), QStringLiteral("--platform")};
        const bool known = own.contains(name);
        if (!known && !ofQt.contains(name))
            return wrong(QStringLiteral("%1: unknown option; tokenscope --help lists them").arg(name));
        if (!withEquals) {
            if (i + 1 >= arguments.size())
                return wrong(QStringLiteral("%1: a value is missing").arg(name));
            value = arguments[++i];
        }
        if (!known)
            continue;
        if (name == QLatin1String("--data-dir")) {
            parsed.dataDirectory = value;
        } else if (name == QLatin1String("--screenshot")) {
            if (!value.endsWith(QLatin1String(".png"), Qt::CaseInsensitive))
                return wrong(QStringLiteral("--screenshot %1: the file's name must end in .png").arg(value));
            parsed.screenshot = value;
        } else {
            needsScreenshot = needsScreenshot || name != QLatin1String("--theme");
            bool good = true;
            if (name == QLatin1String("--page")) {
                parsed.page = value;
                if (value != QLatin1String("chat"))
                    return wrong(QStringLiteral("--page %1: not available in this build; there is chat").arg(value));
            } else if (name == QLatin1String("--theme")) {
                parsed.theme = value;
                if (value != QLatin1String("light") && value != QLatin1String("dark"))
                    return wrong(QStringLiteral("--theme %1: light or dark").arg(value));
            } else if (name == QLatin1String("--size")) {
                if (!parseSize(value, parsed.size))
                    return wrong(
                        QStringLiteral("--size %1: width x height in pixels, 200x200 to 8000x8000, as in 1280x800")
                            .arg(value));
            } else if (name == QLatin1String("--scale")) {
                parsed.scale = value.toDouble(&good);
                if (!good || !(parsed.scale >= 0.5 && parsed.scale <= 4.0))
                    return wrong(QStringLiteral("--scale %1: a number from 0.5 to 4").arg(value));
            } else {
                parsed.prompt = value;
            }
        }
    }
    if (needsScreenshot && !parsed.forScreenshot() && !parsed.help)
        return wrong(QStringLiteral("--page, --size, --scale and --prompt go with --screenshot FILE.png"));
    if (!parsed.prompt.isEmpty() && parsed.files.isEmpty())
        return wrong(QStringLiteral("--prompt: a MODEL to answer it is missing"));
    return parsed;
}

QString windowHelp()
{
    return QStringLiteral("usage: tokenscope [MODEL] [options]\n"
                          "\n"
                          "Opens the window, with MODEL (a .gguf file) where one is given.\n"
                          "\n"
                          "  --data-dir DIR          chats and runs lie here, not in $XDG_DATA_HOME/tokenscope\n"
                          "  --theme light|dark      for this time, whatever the desktop or the menu says\n"
                          "  --screenshot FILE.png   save what the window shows, then exit; with it go\n"
                          "      --page chat         which page\n"
                          "      --size WxH          of the window, in logical pixels (1280x800)\n"
                          "      --scale F           pixels of the picture for each of them (1)\n"
                          "      --prompt TEXT       send this to MODEL and wait for the whole answer\n"
                          "  --version  --help\n"
                          "\n"
                          "Without a window: tokenscope-cli --help\n");
}

}  // namespace tokenscope
