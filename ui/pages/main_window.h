// The window: top bar, rail, pages, controls, status line; menus and shortcuts; drag and drop; what is remembered.
#pragma once

#include "engine/types/metrics.h"
#include "ui/models/app_settings.h"
#include "ui/models/chat_session.h"
#include "ui/models/model_controller.h"
#include "ui/models/preferences.h"
#include "ui/theme/theme.h"

#include <QMainWindow>
#include <QTimer>

#include <filesystem>
#include <functional>
#include <vector>

class QMenu;
class QStackedWidget;

namespace tokenscope::ui {

class ChatPage;
class ControlBar;
class FirstPage;
class NoticeBar;
class PillButton;
class ScopeLink;
class ScopeView;
class StatusLine;
class TopBar;

// What the window works with; all outlive it.
struct WindowContext {
    Theme& theme;
    Preferences& preferences;
    AppSettings& settings;
    ModelController& model;
    ChatSession& session;
    EngineBridge& bridge;
    std::filesystem::path modelsFolder;
    std::filesystem::path cacheFolder;
    QString version;
    bool measuresCeilings = true;  // a second of all threads after the first answer; tests do without
};

class MainWindow : public QMainWindow {
    Q_OBJECT

public:
    explicit MainWindow(const WindowContext& context);
    ~MainWindow() override;

    ChatPage& chatPage() { return *m_chat; }
    FirstPage& firstPage() { return *m_first; }
    ScopeView& scope() { return *m_scope; }
    StatusLine& statusLine() { return *m_status; }

    // A line on the page that is shown, which stays until it is closed.
    NoticeBar& notice();
    void showNotice(const QString& text, bool error = false);
    // Files from the command line, a drop or a second start: a .gguf is loaded, text files are attached.
    void openFiles(const QStringList& paths);
    // At the start: the last model, unless its load did not end the last time.
    void loadAtStart();
    void raiseToFront();

    struct ShortcutRow {
        QString group, text, keys;
    };
    std::vector<ShortcutRow> shortcuts() const;

signals:
    void quitting();

protected:
    void closeEvent(QCloseEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dragLeaveEvent(QDragLeaveEvent* event) override;
    void dropEvent(QDropEvent* event) override;

private:
    void makeMenus();
    QAction* add(QMenu* menu, const QString& icon, const QString& text, const QKeySequence& keys,
                 std::function<void()> act);
    void fillRecent();
    void connectParts();
    void openModel();
    void showPage();
    void showModel();
    void showActions();
    void showMemory();
    void measureCeilings();
    void setCeilings(const MeasuredCeilings& ceilings);
    void openSettings();
    void showShortcuts();
    void showAbout();
    void restore();
    void remember();

    WindowContext m_context;
    TopBar* m_top;
    QStackedWidget* m_pages;
    FirstPage* m_first;
    ChatPage* m_chat;
    ScopeView* m_scope;
    ScopeLink* m_link;
    ControlBar* m_controls;
    PillButton* m_freeze;
    StatusLine* m_status;
    QMenu* m_mainMenu;
    QMenu* m_modelMenu;
    QMenu* m_recentMenu = nullptr;
    QAction* m_unload = nullptr;
    QAction* m_stop = nullptr;
    // Enabled while a chat is open; while it has messages; while it has some and a model could answer.
    std::vector<QAction*> m_chatActions, m_messageActions, m_answerActions;
    std::vector<std::pair<QMenu*, QAction*>> m_actions;
    QTimer m_memoryTimer;
    bool m_choosing = false;  // the first page was asked for although there are chats
    bool m_ceilingsAsked = false;
    EngineSettings m_loadedWith;
};

}  // namespace tokenscope::ui
