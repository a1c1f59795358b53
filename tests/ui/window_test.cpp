#include "tests/ui/window_fixture.h"
#include "ui/pages/first_page.h"
#include "ui/pages/help_dialogs.h"
#include "ui/widgets/composer.h"
#include "ui/widgets/conversation_pane.h"
#include "ui/widgets/notice_bar.h"
#include "ui/widgets/transcript_view.h"

#include <gtest/gtest.h>

#include <QAbstractButton>
#include <QAbstractItemModelTester>
#include <QAccessible>
#include <QApplication>
#include <QFile>
#include <QLabel>
#include <QMimeData>
#include <QSignalSpy>
#include <QTemporaryDir>

#include <map>
#include <set>

namespace tokenscope::ui {
namespace {

TEST_F(WindowTest, AQuestionIsAnsweredAndTheRunSaved)
{
    QSignalSpy saved(&session, &ChatSession::runSaved);
    loadModel();
    ask(QStringLiteral("Why?"));
    const TranscriptModel& transcript = session.transcriptModel();
    ASSERT_EQ(transcript.rowCount(), 2);
    EXPECT_EQ(transcript.item(0).text, QStringLiteral("Why?"));
    EXPECT_EQ(transcript.item(1).text.toStdString(), engine.answer);
    EXPECT_EQ(transcript.item(1).look, MessageLook::Complete);
    EXPECT_TRUE(transcript.item(1).metrics.has_value());
    EXPECT_GT(transcript.item(1).tokens.count(), 5);
    EXPECT_TRUE(QTest::qWaitFor([&] { return saved.count() == 1; }));
}

TEST_F(WindowTest, TheFirstPageGoesWhenThereIsAModel)
{
    window.show();
    EXPECT_TRUE(window.firstPage().isVisible());
    loadModel();
    EXPECT_FALSE(window.firstPage().isVisible());
    EXPECT_TRUE(window.chatPage().isVisible());
}

TEST_F(WindowTest, EnterSendsShiftEnterBreaksEscStops)
{
    window.show();
    loadModel();
    ComposerEdit* edit = window.chatPage().composer().edit();
    edit->setFocus();
    QTest::keyClicks(edit, QStringLiteral("one"));
    QTest::keyClick(edit, Qt::Key_Return, Qt::ShiftModifier);
    QTest::keyClicks(edit, QStringLiteral("two"));
    EXPECT_EQ(edit->toPlainText(), QStringLiteral("one\ntwo"));
    EXPECT_FALSE(session.answering());

    engine.tokensPerTake = 0;  // never ends by itself
    QTest::keyClick(edit, Qt::Key_Return);
    EXPECT_TRUE(session.answering());
    EXPECT_TRUE(edit->toPlainText().isEmpty());
    EXPECT_EQ(session.transcriptModel().item(0).text, QStringLiteral("one\ntwo"));

    QTest::keyClick(edit, Qt::Key_Escape);
    ASSERT_TRUE(QTest::qWaitFor([this] { return !session.answering(); }));
    EXPECT_EQ(session.transcriptModel().item(1).look, MessageLook::Stopped);
}

TEST_F(WindowTest, WithoutAModelTheDraftStaysAndTheReasonIsSaid)
{
    Composer& composer = window.chatPage().composer();
    composer.setDraft(QStringLiteral("a question"));
    QTest::keyClick(composer.edit(), Qt::Key_Return);
    EXPECT_EQ(composer.draft(), QStringLiteral("a question"));
    EXPECT_TRUE(composer.edit()->placeholderText().contains(QStringLiteral("No model is loaded")));
    EXPECT_EQ(session.transcriptModel().rowCount(), 0);
}

TEST_F(WindowTest, RegenerateAndEditMakeSiblings)
{
    loadModel();
    ask(QStringLiteral("first"));
    window.chatPage().regenerate();
    ASSERT_TRUE(QTest::qWaitFor([this] { return !session.answering(); }));
    EXPECT_EQ(session.transcriptModel().item(1).siblingCount, 2);
    EXPECT_EQ(session.transcriptModel().item(1).siblingIndex, 1);

    window.chatPage().stepSibling(-1);
    QCoreApplication::processEvents();
    EXPECT_EQ(session.transcriptModel().item(1).siblingIndex, 0);

    window.chatPage().editLast();
    Composer& composer = window.chatPage().composer();
    EXPECT_EQ(composer.edit()->toPlainText(), QStringLiteral("first"));
    composer.edit()->setPlainText(QStringLiteral("second"));
    QTest::keyClick(composer.edit(), Qt::Key_Return);
    ASSERT_TRUE(QTest::qWaitFor([this] { return !session.answering(); }));
    EXPECT_EQ(session.transcriptModel().item(0).text, QStringLiteral("second"));
    EXPECT_EQ(session.transcriptModel().item(0).siblingCount, 2);
}

TEST_F(WindowTest, ADeletedChatComesBackWithUndo)
{
    loadModel();
    ask(QStringLiteral("keep me"));
    ASSERT_EQ(session.conversationModel().rowCount(), 1);
    window.chatPage().removeChat();
    EXPECT_EQ(session.conversationModel().rowCount(), 0);
    window.show();
    NoticeBar& notice = window.chatPage().notice();
    ASSERT_FALSE(notice.isHidden());
    for (auto* button : notice.findChildren<QAbstractButton*>())
        if (button->text() == QStringLiteral("Undo"))
            button->click();
    EXPECT_EQ(session.conversationModel().rowCount(), 1);
    EXPECT_EQ(session.transcriptModel().rowCount(), 2);
}

TEST_F(WindowTest, AModelThatCannotBeLoadedSaysWhy)
{
    engine.failLoads = true;
    window.show();
    model.load(QStringLiteral("broken.gguf"));
    ASSERT_TRUE(QTest::qWaitFor([this] { return !model.loading(); }));
    EXPECT_TRUE(window.notice().isVisible()) << "on the page that is shown";
    EXPECT_TRUE(window.notice().text().contains(QStringLiteral("not a GGUF file")));
    EXPECT_FALSE(model.loaded().has_value());
}

TEST_F(WindowTest, ALoadThatNeverEndedIsNotRepeatedByItself)
{
    QFile marker(QString::fromStdString((folder.path() / "loading").string()));
    ASSERT_TRUE(marker.open(QIODevice::WriteOnly));
    marker.write("crashed.gguf");
    marker.close();
    preferences.setValue(QStringLiteral("models/last"), marker.fileName());
    ModelController second(bridge, settings, preferences, folder.path());
    EXPECT_EQ(second.unfinishedLoad(), QStringLiteral("crashed.gguf"));
    MainWindow other({theme, preferences, settings, second, session, bridge, folder.path(), folder.path(), QString()});
    other.loadAtStart();
    EXPECT_FALSE(second.loading());
    other.show();
    EXPECT_TRUE(other.notice().isVisible());
    EXPECT_TRUE(other.notice().text().contains(QStringLiteral("crashed.gguf")));
}

TEST_F(WindowTest, ALoadInProgressLeavesAMarkerAndItsEndTakesItAway)
{
    const std::filesystem::path marker = folder.path() / "loading";
    model.load(QStringLiteral("scripted.gguf"));
    EXPECT_TRUE(std::filesystem::exists(marker));
    ASSERT_TRUE(QTest::qWaitFor([this] { return !model.loading(); }));
    EXPECT_FALSE(std::filesystem::exists(marker));
}

TEST_F(WindowTest, TextFilesAreAttachedAndOthersRefusedWithAReason)
{
    const std::filesystem::path text = folder.path() / "notes.txt";
    const std::filesystem::path binary = folder.path() / "picture.bin";
    const std::filesystem::path large = folder.path() / "large.txt";
    const auto write = [](const std::filesystem::path& path, const QByteArray& bytes) {
        QFile file(QString::fromStdString(path.string()));
        ASSERT_TRUE(file.open(QIODevice::WriteOnly));
        file.write(bytes);
    };
    write(text, "with ``` inside");
    write(binary, QByteArray("\xff\xfe\x00\x01", 4));
    write(large, QByteArray(Composer::kMaxAttachmentBytes + 1, 'x'));
    Composer& composer = window.chatPage().composer();
    QSignalSpy problems(&composer, &Composer::problem);
    const auto attach = [&](const std::filesystem::path& path) {
        composer.attachFiles({QString::fromStdString(path.string())});
    };
    attach(text);
    attach(binary);
    attach(large);
    attach(folder.path() / "absent.txt");
    EXPECT_EQ(composer.attachments().size(), 1u);
    ASSERT_EQ(problems.count(), 3);
    EXPECT_TRUE(problems.at(0).at(0).toString().contains(QStringLiteral("UTF-8")));
    EXPECT_TRUE(problems.at(1).at(0).toString().contains(QStringLiteral("256 KiB")));
    composer.edit()->setPlainText(QStringLiteral("What is this?"));
    EXPECT_EQ(composer.message(), QStringLiteral("notes.txt\n````\nwith ``` inside\n````\n\nWhat is this?"));
}

TEST_F(WindowTest, ConversationModelKeepsTheContractOfQt)
{
    QAbstractItemModelTester tester(&session.conversationModel(),
                                    QAbstractItemModelTester::FailureReportingMode::Fatal);
    loadModel();
    ask(QStringLiteral("one"));
    window.chatPage().newChat();
    ask(QStringLiteral("two"));
    EXPECT_EQ(session.conversationModel().rowCount(), 2);
    EXPECT_TRUE(session.conversationModel().setData(session.conversationModel().index(0), QStringLiteral("renamed"),
                                                    Qt::EditRole));
    session.setSearch(QStringLiteral("renamed"));
    EXPECT_EQ(session.conversationModel().rowCount(), 1);
}

TEST_F(WindowTest, EveryActionHasAShortcutAndNoTwoShareOne)
{
    std::set<QString> keys;
    for (const MainWindow::ShortcutRow& row : window.shortcuts())
        EXPECT_TRUE(keys.insert(row.keys).second) << row.keys.toStdString() << ": " << row.text.toStdString();
    for (const QAction* action : window.actions())
        EXPECT_FALSE(action->shortcut().isEmpty()) << action->text().toStdString();
}

// Whatever can take the focus has a name that a screen reader can say.
void expectNames(QWidget& root)
{
    for (QWidget* widget : root.findChildren<QWidget*>()) {
        if (!(widget->focusPolicy() & Qt::TabFocus) || widget->focusProxy())
            continue;
        const QAccessibleInterface* face = QAccessible::queryAccessibleInterface(widget);
        const QString name = face ? face->text(QAccessible::Name) : QString();
        EXPECT_FALSE(name.isEmpty() && widget->accessibleName().isEmpty())
            << widget->metaObject()->className() << " " << widget->objectName().toStdString() << " in "
            << widget->parentWidget()->metaObject()->className();
    }
}

TEST_F(WindowTest, EveryFocusableWidgetHasAName)
{
    window.show();
    expectNames(window);
    loadModel();
    ask(QStringLiteral("Why?"));
    expectNames(window);
    ShortcutsDialog shortcuts({{QStringLiteral("g"), QStringLiteral("t"), QStringLiteral("k")}});
    expectNames(shortcuts);
    AboutDialog about(QStringLiteral("1"));
    expectNames(about);
}

TEST_F(WindowTest, TabReachesTheComposerTheListAndTheTranscript)
{
    window.show();
    loadModel();
    ask(QStringLiteral("Why?"));
    std::set<const QWidget*> reached;
    window.chatPage().composer().edit()->setFocus();
    for (int i = 0; i < 80; ++i) {
        QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
        reached.insert(QApplication::focusWidget());
    }
    EXPECT_TRUE(reached.contains(window.chatPage().composer().edit()));
    EXPECT_TRUE(reached.contains(window.chatPage().conversations().list()));
    EXPECT_TRUE(reached.contains(&window.chatPage().transcript()));
}

// No label is cut and nothing lies outside its parent.
void expectNothingClipped(QWidget& window)
{
    for (const QLabel* label : window.findChildren<QLabel*>()) {
        if (!label->isVisible() || label->text().isEmpty() || label->wordWrap())
            continue;
        EXPECT_TRUE(label->rect().width() >= label->minimumSizeHint().width()) << label->text().toStdString();
    }
    for (const QAbstractButton* button : window.findChildren<QAbstractButton*>()) {
        if (!button->isVisible() || !button->parentWidget())
            continue;
        const QPoint corner = button->mapTo(&window, button->rect().bottomRight());
        EXPECT_TRUE(window.rect().contains(corner))
            << button->text().toStdString() << " " << button->accessibleName().toStdString();
    }
}

TEST_F(WindowTest, NothingIsClippedAtTheSizesPromised)
{
    loadModel();
    ask(QStringLiteral("Why does a rainbow have bands of colour?"));
    for (const QSize size : {QSize(1024, 640), QSize(1280, 800), QSize(2560, 1400)}) {
        window.resize(size);
        window.show();
        QCoreApplication::processEvents();
        EXPECT_EQ(window.size(), size) << "the window must be able to be as small";
        EXPECT_EQ(window.chatPage().scopeIsTab(), size.width() < 1090);
        expectNothingClipped(window);
    }
}

TEST_F(WindowTest, EveryLabelGrowsWithTheTextSize)
{
    loadModel();
    ask(QStringLiteral("Why?"));
    window.show();
    std::map<const QLabel*, int> before;
    for (const QLabel* label : window.findChildren<QLabel*>())
        before[label] = label->font().pixelSize();
    theme.setScale(1.5);
    for (const auto& [label, pixels] : before)
        EXPECT_GT(label->font().pixelSize(), pixels) << label->text().toStdString();
    theme.setScale(1.0);
}

TEST_F(WindowTest, ThePictureFollowsTheTheme)
{
    loadModel();
    window.resize(1280, 800);
    window.show();
    for (const ThemeChoice choice : {ThemeChoice::Light, ThemeChoice::Dark}) {
        theme.setChoice(choice);
        QCoreApplication::processEvents();
        const QImage picture = window.grab().toImage();
        const Palette& colors = choice == ThemeChoice::Dark ? darkPalette() : lightPalette();
        EXPECT_EQ(picture.pixelColor(600, 42), colors.panel) << "top bar";
        EXPECT_EQ(picture.pixelColor(70, 600), colors.bg) << "list";
        EXPECT_EQ(picture.pixelColor(30, 600), colors.panel) << "rail";
    }
    theme.setChoice(ThemeChoice::Light);
}

}  // namespace
}  // namespace tokenscope::ui
