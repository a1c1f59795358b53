// The window's program: makes every part once and hands them to each other.
#include "app/bridge/window_arguments.h"
#include "app/services/chat_service.h"
#include "app/services/paths.h"
#include "app/window/display_check.h"
#include "engine/engine.h"
#include "storage/storage.h"
#include "ui/pages/main_window.h"
#include "ui/pages/screenshot.h"
#include "ui/pages/single_instance.h"

#include <QApplication>
#include <QDir>
#include <QTimer>

#include <cstdio>
#include <filesystem>

namespace {

using namespace tokenscope;

constexpr int kWrongUse = 2;

void say(const std::string& sentence)
{
    std::fprintf(stderr, "tokenscope: %s\n", sentence.c_str());
}

// What the engine still has to tell about a stopped answer is saved before the end.
void finishAnswer(EnginePort& engine, ChatService& chat)
{
    if (!chat.answering())
        return;
    chat.stop();
    for (int round = 0; round < 20 && chat.answering(); ++round) {
        engine.waitForEvents(std::chrono::milliseconds(50));
        for (const Event& event : engine.takeEvents())
            chat.apply(event);
    }
    chat.poll();
}

void restoreView(ui::Theme& theme, const ui::Preferences& preferences, const WindowArguments& arguments)
{
    const QString chosen = arguments.theme.isEmpty()
                               ? preferences.value(QStringLiteral("view/theme"), QStringLiteral("system")).toString()
                               : arguments.theme;
    theme.setChoice(ui::themeChoiceFromName(chosen));
    theme.setScale(preferences.value(QStringLiteral("view/textSize"), 1.0).toDouble());
}

int runWindow(QApplication& application, const WindowArguments& arguments)
{
    const std::filesystem::path data = arguments.dataDirectory.isEmpty()
                                           ? defaultDataDirectory()
                                           : std::filesystem::path(arguments.dataDirectory.toStdString());
    std::error_code error;
    std::filesystem::create_directories(data, error);  // where it fails, the storage says so

    ui::SingleInstance instance(QString::fromStdString(data.string()));
    if (!arguments.forScreenshot() && !instance.claim(arguments.files)) {
        say("a window with this data folder is open already; it was brought to the front");
        return 0;
    }
    ui::Preferences preferences(arguments.forScreenshot() ? std::filesystem::path() : configDirectory() / "window.ini");
    ui::Theme theme;
    restoreView(theme, preferences, arguments);

    const std::unique_ptr<Storage> storage = Storage::open(data);
    const std::unique_ptr<EnginePort> engine = makeEngine();
    ChatService chat(*engine, *storage, systemClock());
    EngineBridge bridge(*engine);
    ui::AppSettings settings(preferences);
    ui::ModelController model(bridge, settings, preferences,
                              arguments.forScreenshot() ? std::filesystem::path() : data);
    ui::ChatSession session(chat, bridge);
    ui::MainWindow window({theme, preferences, settings, model, session, bridge, modelsDirectory(), cacheDirectory(),
                           QStringLiteral(TOKENSCOPE_VERSION)});

    if (storage->state() != Storage::State::Ready)
        window.showNotice(QString::fromStdString(storage->error().message), true);
    else if (!storage->notice().empty())
        window.showNotice(QString::fromStdString(storage->notice()));
    storage->onWriteFailed([&window](const Error& failure) {
        QMetaObject::invokeMethod(
            &window, [&window, text = QString::fromStdString(failure.message)] { window.showNotice(text, true); });
    });
    QObject::connect(&instance, &ui::SingleInstance::otherStarted, &window, [&window](const QStringList& files) {
        window.raiseToFront();
        window.openFiles(files);
    });

    int result = 0;
    ui::Screenshot screenshot(window, model, session);
    if (arguments.forScreenshot()) {
        window.resize(arguments.size);
        window.show();
        QObject::connect(&screenshot, &ui::Screenshot::finished, &application, [&](int code, const QString& sentence) {
            if (!sentence.isEmpty())
                say(sentence.toStdString());
            result = code;
            application.quit();
        });
        QTimer::singleShot(0, &screenshot,
                           [&] { screenshot.take(arguments.screenshot, arguments.files.value(0), arguments.prompt); });
    } else {
        window.show();
        // After the first frame: the window is up before the model is.
        QTimer::singleShot(0, &window, [&] {
            if (arguments.files.isEmpty())
                window.loadAtStart();
            else
                window.openFiles(arguments.files);
        });
    }
    application.exec();
    model.cancel();
    finishAnswer(*engine, chat);
    storage->onWriteFailed({});
    return result;
}

}  // namespace

int main(int argc, char** argv)
{
    QStringList words;
    for (int i = 1; i < argc; ++i)
        words << QString::fromLocal8Bit(argv[i]);
    const Result<WindowArguments> arguments = parseWindowArguments(words);
    if (!arguments) {
        say(arguments.error().message);
        return kWrongUse;
    }
    if (arguments->help || arguments->version) {
        std::fputs(arguments->help ? windowHelp().toUtf8().constData() : "tokenscope " TOKENSCOPE_VERSION "\n", stdout);
        return 0;
    }
    for (const QString& file : arguments->files) {
        std::error_code error;
        if (!std::filesystem::is_regular_file(file.toStdString(), error)) {
            say(file.toStdString() + ": there is no such file");
            return kWrongUse;
        }
    }
    if (const std::string missing = missingDisplay(argc, argv); !missing.empty()) {
        if (!arguments->forScreenshot()) {
            say(missing);
            return kWrongUse;
        }
        qputenv("QT_QPA_PLATFORM", "offscreen");  // a picture needs no display
    }
    if (arguments->scale != 1.0)
        qputenv("QT_SCALE_FACTOR", QByteArray::number(arguments->scale));
    QApplication::setHighDpiScaleFactorRoundingPolicy(Qt::HighDpiScaleFactorRoundingPolicy::PassThrough);
    QApplication application(argc, argv);
    QApplication::setApplicationName(QStringLiteral("tokenscope"));
    QApplication::setApplicationDisplayName(QStringLiteral("Tokenscope"));
    QApplication::setApplicationVersion(QStringLiteral(TOKENSCOPE_VERSION));
    return runWindow(application, *arguments);
}
