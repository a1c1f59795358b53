// The menus: every action with its shortcut, in one place, from which the overview (F1) is made.
#include "ui/charts/scope_view.h"
#include "ui/pages/chat_page.h"
#include "ui/pages/first_page.h"
#include "ui/pages/help_dialogs.h"
#include "ui/pages/main_window.h"
#include "ui/theme/icons.h"
#include "ui/widgets/conversation_pane.h"
#include "ui/widgets/search_field.h"
#include "ui/widgets/top_bar.h"
#include "ui/widgets/transcript_view.h"

#include <QActionGroup>
#include <QFileInfo>
#include <QMenu>

namespace tokenscope::ui {

QAction* MainWindow::add(QMenu* menu, const QString& icon, const QString& text, const QKeySequence& keys,
                         std::function<void()> act)
{
    auto* action = new QAction(text, this);
    if (!keys.isEmpty()) {
        action->setShortcut(keys);
        action->setShortcutContext(Qt::WindowShortcut);
    }
    if (!icon.isEmpty()) {
        action->setIcon(menuIcon(icon, this));
        connect(&m_context.theme, &Theme::changed, action,
                [this, action, icon] { action->setIcon(menuIcon(icon, this)); });
    }
    connect(action, &QAction::triggered, this, [act = std::move(act)] { act(); });
    menu->addAction(action);
    addAction(action);  // the shortcut works without the menu being open
    m_actions.emplace_back(menu, action);
    return action;
}

void MainWindow::makeMenus()
{
    const auto icon = [](const char* name) { return QString::fromLatin1(name); };
    const QString none;
    m_mainMenu = new QMenu(this);
    ModelController& model = m_context.model;

    QMenu* file = m_mainMenu->addMenu(tr("&Model"));
    add(file, icon("model"), tr("Open model…"), QKeySequence::Open, [this] { openModel(); });
    m_recentMenu = file->addMenu(tr("Recent models"));
    connect(m_recentMenu, &QMenu::aboutToShow, this, &MainWindow::fillRecent);
    add(file, none, tr("Models on this machine"), Qt::CTRL | Qt::SHIFT | Qt::Key_O, [this] {
        if (m_context.model.loading())
            return;
        m_first->rescan();
        m_choosing = true;
        showPage();
    });
    add(file, icon("refresh"), tr("Reload with the current settings"), Qt::CTRL | Qt::SHIFT | Qt::Key_L,
        [&model] { model.reload(); });
    m_unload = add(file, none, tr("Unload"), Qt::CTRL | Qt::SHIFT | Qt::Key_U, [&model] { model.unload(); });
    file->addSeparator();
    add(file, none, tr("All settings…"), Qt::CTRL | Qt::Key_Comma, [this] { openSettings(); });
    file->addSeparator();
    add(file, none, tr("Quit"), Qt::CTRL | Qt::Key_Q, [this] { close(); });

    QMenu* chat = m_mainMenu->addMenu(tr("&Chat"));
    add(chat, icon("plus"), tr("New chat"), QKeySequence::New, [this] { m_chat->newChat(); });
    m_chatActions = {add(chat, icon("edit"), tr("Rename"), Qt::Key_F2, [this] { m_chat->renameChat(); }),
                     add(chat, icon("trash"), tr("Delete"), Qt::CTRL | Qt::SHIFT | Qt::Key_Delete,
                         [this] { m_chat->removeChat(); })};
    add(chat, icon("search"), tr("Search chats"), Qt::CTRL | Qt::Key_K,
        [this] { m_chat->conversations().searchField()->setFocus(); });
    add(chat, icon("system"), tr("System prompt…"), Qt::CTRL | Qt::SHIFT | Qt::Key_P,
        [this] { m_chat->editSystemPrompt(); });
    chat->addSeparator();
    m_messageActions = {add(chat, icon("download"), tr("Export as Markdown…"), Qt::CTRL | Qt::SHIFT | Qt::Key_M,
                            [this] { m_chat->exportChat(false); }),
                        add(chat, icon("download"), tr("Export as JSON…"), Qt::CTRL | Qt::SHIFT | Qt::Key_J,
                            [this] { m_chat->exportChat(true); })};
    add(chat, icon("upload"), tr("Import…"), Qt::CTRL | Qt::SHIFT | Qt::Key_I, [this] { m_chat->importChat(); });

    QMenu* answer = m_mainMenu->addMenu(tr("&Answer"));
    // Only while there is something to stop: else Esc belongs to the field that is being edited.
    m_stop = add(answer, icon("stop"), tr("Stop"), Qt::Key_Escape, [this] { m_context.session.stop(); });
    m_answerActions = {
        add(answer, icon("refresh"), tr("Answer again"), Qt::CTRL | Qt::Key_R, [this] { m_chat->regenerate(); }),
        add(answer, icon("continue"), tr("Continue the answer"), Qt::CTRL | Qt::SHIFT | Qt::Key_Return,
            [this] { m_chat->continueAnswer(); }),
        add(answer, icon("edit"), tr("Edit and ask again"), Qt::CTRL | Qt::Key_E, [this] { m_chat->editLast(); })};
    for (QAction* action :
         {add(answer, icon("copy"), tr("Copy answer"), Qt::CTRL | Qt::SHIFT | Qt::Key_C,
              [this] { m_chat->copyMessage(); }),
          add(answer, icon("left"), tr("Previous version"), Qt::ALT | Qt::Key_Left,
              [this] { m_chat->stepSibling(-1); }),
          add(answer, icon("right"), tr("Next version"), Qt::ALT | Qt::Key_Right, [this] { m_chat->stepSibling(1); })})
        m_messageActions.push_back(action);
    answer->addSeparator();
    for (QAction* action :
         {add(answer, icon("search"), tr("Find in this chat"), QKeySequence::Find, [this] { m_chat->find(); }),
          add(answer, icon("latest"), tr("Jump to latest"), Qt::CTRL | Qt::Key_End,
              [this] { m_chat->transcript().followEnd(); })})
        m_messageActions.push_back(action);

    QMenu* view = m_mainMenu->addMenu(tr("&View"));
    auto* themes = new QActionGroup(this);
    const std::pair<ThemeChoice, QString> choices[] = {{ThemeChoice::System, tr("Theme of the desktop")},
                                                       {ThemeChoice::Light, tr("Light theme")},
                                                       {ThemeChoice::Dark, tr("Dark theme")}};
    int key = Qt::Key_1;
    for (const auto& [choice, text] : choices) {
        QAction* action = add(view, none, text, QKeySequence(Qt::CTRL | Qt::ALT | static_cast<Qt::Key>(key++)),
                              [this, choice = choice] {
                                  m_context.theme.setChoice(choice);
                                  m_context.preferences.setValue(QStringLiteral("view/theme"), themeChoiceName(choice));
                              });
        action->setCheckable(true);
        action->setChecked(choice == m_context.theme.choice());
        themes->addAction(action);
    }
    view->addSeparator();
    const auto size = [this](double scale) {
        m_context.theme.setScale(scale);
        m_context.preferences.setValue(QStringLiteral("view/textSize"), m_context.theme.scale());
    };
    QAction* larger = add(view, none, tr("Larger text"), Qt::CTRL | Qt::Key_Plus,
                          [this, size] { size(m_context.theme.scale() * 1.1); });
    larger->setShortcuts({QKeySequence(Qt::CTRL | Qt::Key_Plus), QKeySequence(Qt::CTRL | Qt::Key_Equal)});
    add(view, none, tr("Smaller text"), Qt::CTRL | Qt::Key_Minus,
        [this, size] { size(m_context.theme.scale() / 1.1); });
    add(view, none, tr("Usual text size"), Qt::CTRL | Qt::Key_0, [size] { size(1.0); });
    view->addSeparator();
    QAction* time = add(view, none, tr("Charts over time instead of tokens"), Qt::CTRL | Qt::Key_T, [] {});
    time->setCheckable(true);
    connect(time, &QAction::toggled, this,
            [this](bool on) { m_scope->setAxis(on ? ScopeView::Axis::Time : ScopeView::Axis::Tokens); });
    add(view, none, tr("Freeze the charts"), Qt::CTRL | Qt::SHIFT | Qt::Key_F,
        [this] { m_scope->setFrozen(!m_scope->isFrozen()); });
    add(view, icon("scope"), tr("Scope or chat, in a narrow window"), Qt::CTRL | Qt::Key_D,
        [this] { m_chat->showScopeTab(!m_scope->isVisible()); });
    add(view, none, tr("Next part of the window"), Qt::Key_F6, [this] { m_chat->focusNextPart(); });

    QMenu* help = m_mainMenu->addMenu(tr("&Help"));
    add(help, none, tr("Keyboard shortcuts"), Qt::Key_F1, [this] { showShortcuts(); });
    add(help, icon("logo"), tr("About Tokenscope"), Qt::SHIFT | Qt::Key_F1, [this] { showAbout(); });

    auto* openMenu = new QAction(tr("Menu"), this);
    openMenu->setShortcut(Qt::Key_F10);
    connect(openMenu, &QAction::triggered, m_top, &TopBar::openMainMenu);
    addAction(openMenu);

    m_modelMenu = new QMenu(this);
    connect(m_modelMenu, &QMenu::aboutToShow, this, [this] {
        m_modelMenu->clear();
        for (const auto& [menu, action] : m_actions)
            if (menu->title() == tr("&Model") && action->text() != tr("Quit"))
                m_modelMenu->addAction(action);
        m_modelMenu->addSeparator();
        for (const QString& path : m_context.preferences.recentModels())
            m_modelMenu->addAction(QFileInfo(path).fileName(), this, [this, path] { m_context.model.load(path); })
                ->setToolTip(path);
    });
    m_top->setMenus(m_modelMenu, m_mainMenu);
}

void MainWindow::fillRecent()
{
    m_recentMenu->clear();
    const QStringList recent = m_context.preferences.recentModels();
    for (const QString& path : recent)
        m_recentMenu->addAction(QFileInfo(path).fileName(), this, [this, path] { m_context.model.load(path); })
            ->setToolTip(path);
    m_recentMenu->addSeparator();
    QAction* forget =
        m_recentMenu->addAction(tr("Forget them"), this, [this] { m_context.preferences.forgetRecentModels(); });
    forget->setEnabled(!recent.isEmpty());
}

std::vector<MainWindow::ShortcutRow> MainWindow::shortcuts() const
{
    std::vector<ShortcutRow> rows;
    for (const auto& [menu, action] : m_actions)
        if (!action->shortcut().isEmpty())
            rows.push_back({menu->title().remove(u'&'), action->text().remove(u'…'),
                            action->shortcut().toString(QKeySequence::NativeText)});
    const QString writing = tr("Writing and reading");
    rows.push_back({writing, tr("Send the message"), tr("Enter")});
    rows.push_back({writing, tr("Break the line"), tr("Shift+Enter")});
    rows.push_back({writing, tr("Edit the last message, from the empty field"), tr("Up")});
    rows.push_back({writing, tr("Message before, message after"), tr("Ctrl+Up, Ctrl+Down")});
    rows.push_back({writing, tr("Menu of the current message"), tr("Menu key, Shift+F10")});
    rows.push_back({writing, tr("The menus"), tr("F10")});
    return rows;
}

void MainWindow::showShortcuts()
{
    std::vector<ShortcutEntry> entries;
    for (const ShortcutRow& row : shortcuts())
        entries.push_back({row.group, row.text, row.keys});
    ShortcutsDialog(entries, this).exec();
}

void MainWindow::showAbout()
{
    AboutDialog(m_context.version, this).exec();
}

}  // namespace tokenscope::ui
