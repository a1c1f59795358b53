// The real window with everything it works with, over an engine of the caller's and a database in a folder of its own.
#pragma once

#include "app/services/chat_service.h"
#include "tests/support/temp_folder.h"
#include "ui/pages/chat_page.h"
#include "ui/pages/main_window.h"

#include <functional>
#include <memory>
#include <string>

namespace tokenscope::bench {

class WindowStage {
public:
    explicit WindowStage(EnginePort& port) : engine(port) { window.resize(1280, 800); }

    // Writes a chat of about `tokens` tokens (four bytes each) into the database and opens it: headings, paragraphs,
    // lists, tables and code, in answers of some 2,000 tokens.
    Result<void> openLongChat(int tokens);

    // Run the event loop until `done` says so (asked 20 times a second) or the time is over.
    static void runUntil(const std::function<bool()>& done);
    static void runFor(int milliseconds);

    EnginePort& engine;
    test::TempFolder folder;
    std::unique_ptr<Storage> storage = Storage::open(folder.path());
    ChatService chat{engine, *storage, systemClock()};
    EngineBridge bridge{engine};
    ui::Preferences preferences;
    ui::Theme theme;
    ui::AppSettings settings{preferences};
    ui::ModelController model{bridge, settings, preferences, folder.path()};
    ui::ChatSession session{chat, bridge};
    ui::MainWindow window{{theme, preferences, settings, model, session, bridge, folder.path() / "models",
                           folder.path(), QStringLiteral("0.0.0"), false}};
};

}  // namespace tokenscope::bench
