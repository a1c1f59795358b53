// The first start: fetching the starter model, cancelling, and what goes wrong, with a script instead of the network.
#include "tests/support/temp_folder.h"
#include "ui/models/app_settings.h"
#include "ui/pages/first_page.h"
#include "ui/widgets/pill_button.h"
#include "ui/widgets/text_label.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QFile>
#include <QLabel>
#include <QSignalSpy>
#include <QTest>

namespace tokenscope::ui {
namespace {

class FirstPageTest : public testing::Test {
protected:
    void begin(const QByteArray& script)
    {
        const QString path = QString::fromStdString(folder.file("fetch.sh").string());
        QFile file(path);
        ASSERT_TRUE(file.open(QIODevice::WriteOnly));
        file.write(script);
        file.close();
        page = std::make_unique<FirstPage>(folder.path() / "models", settings, preferences, nullptr, path);
        page->resize(1000, 700);
        page->show();
        ASSERT_TRUE(QTest::qWaitForWindowActive(page.get()));
    }
    PillButton* button(const QString& name)
    {
        for (PillButton* each : page->findChildren<PillButton*>())
            if (each->accessibleName() == name)
                return each;
        return nullptr;
    }
    PillButton* get() { return button(QStringLiteral("Fetch the starter model")); }
    PillButton* cancel() { return button(QStringLiteral("Cancel the download")); }
    bool says(const QString& words)
    {
        for (const QLabel* label : page->findChildren<QLabel*>())
            if (label->isVisible() && label->text().contains(words))
                return true;
        return false;
    }

    test::TempFolder folder;
    Preferences preferences;
    AppSettings settings{preferences};
    std::unique_ptr<FirstPage> page;
};

TEST_F(FirstPageTest, AFetchShowsHowFarItIsAndLoadsWhatCame)
{
    begin("echo 'progress 50000000 100000000'; sleep 0.4; exit 0");
    QSignalSpy load(page.get(), &FirstPage::loadRequested);
    get()->click();
    EXPECT_TRUE(QTest::qWaitFor([this] { return says(QStringLiteral("48 MiB of 95 MiB")); }));
    EXPECT_TRUE(cancel()->isVisible());
    EXPECT_TRUE(QTest::qWaitFor([&] { return load.count() == 1; }));
    EXPECT_TRUE(load[0][0].toString().endsWith(QStringLiteral("SmolLM2-135M-Instruct.Q4_1.gguf")));
    EXPECT_FALSE(cancel()->isVisible());
}

TEST_F(FirstPageTest, CancelEndsTheFetchWithAllItsChildren)
{
    const QByteArray alive = QByteArray::fromStdString(folder.file("alive").string());
    begin("trap 'exit 130' TERM; echo 'progress 1 100'; (while :; do date +%N > '" + alive +
          "'; sleep 0.05; done) & wait");
    QSignalSpy load(page.get(), &FirstPage::loadRequested);
    get()->click();
    ASSERT_TRUE(QTest::qWaitFor([&] { return QFile::exists(QString::fromUtf8(alive)); }));
    cancel()->click();
    ASSERT_TRUE(QTest::qWaitFor([this] { return !page->fetcher().running(); }));
    EXPECT_TRUE(says(QStringLiteral("cancelled")));
    EXPECT_TRUE(get()->isEnabled());
    EXPECT_EQ(load.count(), 0);
    QFile::remove(QString::fromUtf8(alive));
    QTest::qWait(300);
    EXPECT_FALSE(QFile::exists(QString::fromUtf8(alive))) << "the downloader goes on";
}

TEST_F(FirstPageTest, AFetchThatFailsSaysWhyInTheWindowsWords)
{
    begin("echo 'ERROR: a line of pip' >&2; echo 'fetch-model: pip could not fetch it (see above). No network?' >&2; "
          "exit 1");
    get()->click();
    EXPECT_TRUE(QTest::qWaitFor([this] { return says(QStringLiteral("Pip could not fetch it. No network?")); }));
    EXPECT_FALSE(says(QStringLiteral("see above")));
    EXPECT_TRUE(get()->isEnabled());
}

TEST_F(FirstPageTest, TheFocusStaysWithTheFetch)
{
    begin("trap 'exit 130' TERM; sleep 20 & wait");
    get()->setFocus();
    QTest::keyClick(get(), Qt::Key_Space);
    EXPECT_EQ(QApplication::focusWidget(), cancel());
    QTest::keyClick(cancel(), Qt::Key_Space);
    ASSERT_TRUE(QTest::qWaitFor([this] { return !page->fetcher().running(); }));
    EXPECT_EQ(QApplication::focusWidget(), get());
}

}  // namespace
}  // namespace tokenscope::ui
