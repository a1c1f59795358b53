// The whole window over an engine that follows a script and a database in a folder of its own.
#pragma once

#include "app/services/chat_service.h"
#include "tests/support/temp_folder.h"
#include "tests/ui/scripted_engine.h"
#include "ui/pages/chat_page.h"
#include "ui/pages/main_window.h"

#include <gtest/gtest.h>

#include <QTest>

namespace tokenscope::ui {

class WindowTest : public testing::Test {
protected:
    // Until the engine has nothing more to tell.
    void loadModel()
    {
        model.load(QStringLiteral("scripted.gguf"));
        ASSERT_TRUE(QTest::qWaitFor([this] { return model.loaded().has_value(); }));
    }
    void ask(const QString& text)
    {
        window.chatPage().sendPrompt(text);
        ASSERT_TRUE(QTest::qWaitFor([this] { return !session.answering(); }));
    }

    test::TempFolder folder;
    test::ScriptedEngine engine;
    std::unique_ptr<Storage> storage = Storage::open(folder.path());
    ChatService chat{engine, *storage, systemClock()};
    EngineBridge bridge{engine};
    Preferences preferences;
    Theme theme;
    AppSettings settings{preferences};
    ModelController model{bridge, settings, preferences, folder.path()};
    ChatSession session{chat, bridge};
    MainWindow window{{theme, preferences, settings, model, session, bridge, folder.path() / "models", folder.path(),
                       QStringLiteral("0.0.0"), false}};
};

}  // namespace tokenscope::ui
