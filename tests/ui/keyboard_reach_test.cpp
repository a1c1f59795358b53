// Everything that can be used with the mouse can be reached by Tab and has a name for screen readers.
#include "tests/ui/window_fixture.h"
#include "ui/pages/help_dialogs.h"
#include "ui/pages/system_prompt_dialog.h"
#include "ui/widgets/composer.h"
#include "ui/widgets/find_bar.h"
#include "ui/widgets/settings_dialog.h"

#include <QAbstractButton>
#include <QAccessible>
#include <QAction>
#include <QApplication>
#include <QButtonGroup>
#include <QFile>
#include <QLabel>

#include <algorithm>
#include <set>

namespace tokenscope::ui {
namespace {

std::string describe(const QWidget* widget)
{
    std::string text;
    for (const QWidget* each = widget; each; each = each->parentWidget())
        text += std::string(each == widget ? "" : " in ") + each->metaObject()->className() + "(" +
                each->accessibleName().toStdString() + ")";
    return text;
}

// A label that takes the focus of a click only lets its text be marked.
bool isUsable(const QWidget* widget)
{
    return widget->isVisible() && widget->isEnabled() && widget->focusPolicy() != Qt::NoFocus &&
           !widget->focusProxy() && !qobject_cast<const QLabel*>(widget);
}

// Of an exclusive group Tab reaches one button, the arrows reach the others.
bool isReached(QWidget* widget, const std::set<const QWidget*>& reached)
{
    const auto* button = qobject_cast<const QAbstractButton*>(widget);
    if (!button || !button->group() || !button->group()->exclusive())
        return reached.contains(widget);
    const QList<QAbstractButton*> group = button->group()->buttons();
    return std::any_of(group.begin(), group.end(), [&](const QAbstractButton* each) { return reached.contains(each); });
}

std::vector<QWidget*> usable(const QWidget& window)
{
    std::vector<QWidget*> found;
    for (QWidget* widget : window.findChildren<QWidget*>())
        if (isUsable(widget) && widget->window() == &window)
            found.push_back(widget);
    return found;
}

void expectNames(const QWidget& window)
{
    EXPECT_FALSE(window.windowTitle().isEmpty());
    for (QWidget* widget : usable(window)) {
        QAccessibleInterface* face = QAccessible::queryAccessibleInterface(widget);
        ASSERT_TRUE(face);
        const QString name = face->text(QAccessible::Name);
        EXPECT_FALSE(name.trimmed().isEmpty()) << describe(widget);
    }
}

void expectReach(QWidget& window)
{
    window.activateWindow();
    ASSERT_TRUE(QTest::qWaitForWindowActive(&window));
    const std::vector<QWidget*> all = usable(window);
    ASSERT_FALSE(all.empty());
    all.front()->setFocus();
    std::set<const QWidget*> reached;
    for (std::size_t i = 0; i < 2 * all.size() + 10; ++i) {
        ASSERT_TRUE(QApplication::focusWidget());
        reached.insert(QApplication::focusWidget());
        QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
    }
    for (QWidget* widget : all)
        EXPECT_TRUE(isReached(widget, reached)) << describe(widget) << " is not reached by Tab";
}

class KeyboardReach : public WindowTest {
protected:
    void expectAll(QWidget& shown)
    {
        expectNames(shown);
        expectReach(shown);
    }
};

TEST_F(KeyboardReach, TheFirstPage)
{
    window.show();
    expectAll(window);
}

TEST_F(KeyboardReach, TheChatWithEverythingOpen)
{
    window.resize(1400, 900);
    window.show();
    loadModel();
    ask(QStringLiteral("Why?"));
    window.chatPage().regenerate();
    ASSERT_TRUE(QTest::qWaitFor([this] { return !session.answering(); }));
    const QString file = QString::fromStdString((folder.path() / "notes.txt").string());
    QFile text(file);
    ASSERT_TRUE(text.open(QIODevice::WriteOnly));
    text.write("text");
    text.close();
    window.openFiles({file});
    window.chatPage().find();
    window.showNotice(QStringLiteral("Something to read"));
    expectAll(window);
}

TEST_F(KeyboardReach, TheNarrowWindowWithItsTabs)
{
    window.resize(1024, 640);
    window.show();
    loadModel();
    ask(QStringLiteral("Why?"));
    ASSERT_TRUE(window.chatPage().scopeIsTab());
    expectAll(window);
    window.chatPage().showScopeTab(true);
    QCoreApplication::processEvents();
    expectAll(window);
}

TEST_F(KeyboardReach, TheDialogs)
{
    SettingsDialog settingsDialog(settings.settings());
    SystemPromptDialog systemPrompt(QStringLiteral("Be brief."));
    ShortcutsDialog shortcuts({{QStringLiteral("g"), QStringLiteral("t"), QStringLiteral("k")}});
    AboutDialog about(QStringLiteral("1"));
    for (QDialog* dialog : {static_cast<QDialog*>(&settingsDialog), static_cast<QDialog*>(&systemPrompt),
                            static_cast<QDialog*>(&shortcuts), static_cast<QDialog*>(&about)}) {
        dialog->show();
        expectAll(*dialog);
        dialog->close();
    }
}

TEST_F(KeyboardReach, EveryMenuEntryHasWordsAndNoShortcutIsGivenTwice)
{
    std::set<QString> keys;
    for (const QAction* action : window.actions()) {
        EXPECT_FALSE(action->text().isEmpty());
        for (const QKeySequence& key : action->shortcuts())
            EXPECT_TRUE(keys.insert(key.toString()).second) << key.toString().toStdString();
    }
    EXPECT_GT(keys.size(), 25u);
}

}  // namespace
}  // namespace tokenscope::ui
