// Esc, focus and the actions of the menus, with keys sent as the keyboard sends them: shortcuts first.
#include "tests/ui/window_fixture.h"
#include "ui/widgets/composer.h"
#include "ui/widgets/conversation_pane.h"
#include "ui/widgets/find_bar.h"
#include "ui/widgets/search_field.h"
#include "ui/widgets/transcript_view.h"

#include <QAction>
#include <QApplication>
#include <QPaintEvent>

namespace tokenscope::ui {
namespace {

class WindowKeys : public WindowTest {
protected:
    void SetUp() override
    {
        window.show();
        ASSERT_TRUE(QTest::qWaitForWindowActive(&window));
    }
    QAction* action(const QString& text)
    {
        for (QAction* each : window.actions())
            if (each->text() == text)
                return each;
        ADD_FAILURE() << "no action " << text.toStdString();
        return nullptr;
    }
    void press(Qt::Key key, Qt::KeyboardModifiers modifiers = {})
    {
        QTest::keyClick(QApplication::focusWidget(), key, modifiers);
    }
};

TEST_F(WindowKeys, EscLeavesAnEdit)
{
    loadModel();
    ask(QStringLiteral("first"));
    Composer& composer = window.chatPage().composer();
    window.chatPage().editLast();
    ASSERT_NE(composer.editing(), 0);
    press(Qt::Key_Escape);
    EXPECT_EQ(composer.editing(), 0);
    EXPECT_TRUE(composer.edit()->toPlainText().isEmpty());
}

TEST_F(WindowKeys, EscClosesFindAlsoWhileAnAnswerIsWritten)
{
    loadModel();
    ask(QStringLiteral("first"));
    auto* find = window.findChild<FindBar*>();
    for (const bool answering : {false, true}) {
        if (answering) {
            engine.tokensPerTake = 0;
            ASSERT_TRUE(session.send(QStringLiteral("second")));
        }
        window.chatPage().find();
        ASSERT_TRUE(find->isVisible());
        press(Qt::Key_Escape);
        EXPECT_FALSE(find->isVisible());
        EXPECT_EQ(session.answering(), answering);
    }
    session.stop();
    ASSERT_TRUE(QTest::qWaitFor([this] { return !session.answering(); }));
}

TEST_F(WindowKeys, EscEmptiesTheSearchField)
{
    loadModel();
    ask(QStringLiteral("first"));
    SearchField* search = window.chatPage().conversations().searchField();
    search->setFocus();
    QTest::keyClicks(search, QStringLiteral("nothing has this"));
    EXPECT_EQ(session.conversationModel().rowCount(), 0);
    press(Qt::Key_Escape);
    EXPECT_TRUE(search->text().isEmpty());
    EXPECT_EQ(session.conversationModel().rowCount(), 1);
}

TEST_F(WindowKeys, ActionsAreOnlyOfferedWhenTheyDoSomething)
{
    const QString stop = QStringLiteral("Stop"), again = QStringLiteral("Answer again"),
                  rename = QStringLiteral("Rename"), save = QStringLiteral("Export as JSON…");
    for (const QString& name : {stop, again, rename, save})
        EXPECT_FALSE(action(name)->isEnabled()) << name.toStdString();
    loadModel();
    ask(QStringLiteral("first"));
    EXPECT_FALSE(action(stop)->isEnabled());
    for (const QString& name : {again, rename, save})
        EXPECT_TRUE(action(name)->isEnabled()) << name.toStdString();
    engine.tokensPerTake = 0;
    ASSERT_TRUE(session.send(QStringLiteral("second")));
    EXPECT_TRUE(action(stop)->isEnabled());
    EXPECT_FALSE(action(again)->isEnabled());
    session.stop();
    ASSERT_TRUE(QTest::qWaitFor([this] { return !session.answering(); }));
}

TEST_F(WindowKeys, AltLeftFindsTheAnswerThatHasVersions)
{
    loadModel();
    ask(QStringLiteral("first"));
    window.chatPage().regenerate();
    ASSERT_TRUE(QTest::qWaitFor([this] { return !session.answering(); }));
    // The question is the current message, as after a search; it has no other version.
    window.chatPage().transcript().setFocus();
    window.chatPage().transcript().setCurrentIndex(session.transcriptModel().index(0, 0));
    press(Qt::Key_Left, Qt::AltModifier);
    QCoreApplication::processEvents();
    EXPECT_EQ(session.transcriptModel().item(1).siblingIndex, 0);
}

TEST_F(WindowKeys, AClickAnywhereInTheComposerBeginsToWrite)
{
    loadModel();
    window.chatPage().transcript().setFocus();
    Composer& composer = window.chatPage().composer();
    QTest::mouseClick(&composer, Qt::LeftButton, {}, QPoint(composer.width() / 3, composer.height() - 3));
    EXPECT_EQ(QApplication::focusWidget(), composer.edit());
}

// Counts how often a widget is asked to paint its middle.
class PaintWatch : public QObject {
public:
    explicit PaintWatch(QWidget* watched) { watched->installEventFilter(this); }
    int painted = 0;

protected:
    bool eventFilter(QObject* watched, QEvent* event) override
    {
        if (event->type() == QEvent::Paint &&
            static_cast<QPaintEvent*>(event)->rect().contains(static_cast<QWidget*>(watched)->rect().center()))
            ++painted;
        return false;
    }
};

TEST_F(WindowKeys, TheComposersWordsAreRepaintedWhenTheModelIsThere)
{
    loadModel();
    QCoreApplication::processEvents();
    Composer& composer = window.chatPage().composer();
    PaintWatch watch(composer.edit()->viewport());
    composer.setBlocked(QStringLiteral("The model is loading"));
    EXPECT_TRUE(QTest::qWaitFor([&] { return watch.painted > 0; }));
    watch.painted = 0;
    composer.setBlocked(QString());
    EXPECT_TRUE(QTest::qWaitFor([&] { return watch.painted > 0; }));
}

}  // namespace
}  // namespace tokenscope::ui
