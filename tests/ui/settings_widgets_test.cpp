#include "ui/widgets/choice_button.h"
#include "ui/widgets/control_bar.h"
#include "ui/widgets/settings_dialog.h"

#include <QSignalSpy>
#include <QTest>

#include <gtest/gtest.h>

namespace tokenscope::ui {
namespace {

ChoiceButton* fieldNamed(const QWidget& parent, const QString& start)
{
    for (ChoiceButton* choice : parent.findChildren<ChoiceButton*>())
        if (choice->accessibleName().startsWith(start))
            return choice;
    return nullptr;
}

TEST(ControlBar, AChoiceChangesTheSettingAndOffersTheReloadItNeeds)
{
    ControlBar bar({QStringLiteral("scalar"), QStringLiteral("avx2")}, 2);
    LoadedModelInfo model;
    model.model.trainedContext = 8192;
    bar.setModel(model, {});
    EXPECT_FALSE(bar.reloadPending());
    QSignalSpy changed(&bar, &ControlBar::settingsChanged);
    ChoiceButton* context = fieldNamed(bar, QStringLiteral("Context"));
    ASSERT_NE(context, nullptr);
    QTest::keyClick(context, Qt::Key_Down);  // auto → 512
    EXPECT_EQ(bar.settings().engine.context, 512);
    EXPECT_EQ(changed.size(), 1);
    EXPECT_TRUE(bar.reloadPending());
    bar.setModel(model, bar.settings().engine);
    EXPECT_FALSE(bar.reloadPending());
}

TEST(ControlBar, OffersNoContextBeyondWhatTheModelWasTrainedFor)
{
    ControlBar bar({QStringLiteral("scalar")}, 2);
    LoadedModelInfo model;
    model.model.trainedContext = 2048;
    bar.setModel(model, {});
    for (const Choice& choice : fieldNamed(bar, QStringLiteral("Context"))->choices())
        EXPECT_LE(choice.value.toInt(), 2048);
}

TEST(ControlBar, SamplingPresetsNeedNoReload)
{
    ControlBar bar({QStringLiteral("scalar")}, 2);
    bar.setModel(LoadedModelInfo{}, {});
    ChoiceButton* sampling = fieldNamed(bar, QStringLiteral("Sampling"));
    EXPECT_EQ(sampling->value(), QStringLiteral("balanced"));
    QTest::keyClick(sampling, Qt::Key_Up);
    EXPECT_EQ(bar.settings().sampling.temperature, 0.0);
    EXPECT_FALSE(bar.reloadPending());
}

TEST(SettingsDialog, RefusesAValueOutOfRangeWithTheRangeAndKeepsTheOldOne)
{
    SettingsDialog dialog{Settings{}};
    EXPECT_EQ(dialog.enter(QStringLiteral("top_p"), QStringLiteral("1.5")),
              QStringLiteral("top_p=1.5: expected a number from 0 to 1"));
    EXPECT_EQ(dialog.settings().sampling.topP, 0.95);
    EXPECT_EQ(dialog.enter(QStringLiteral("top_p"), QStringLiteral("0.5")), QString());
    EXPECT_EQ(dialog.settings().sampling.topP, 0.5);
    EXPECT_EQ(dialog.enter(QStringLiteral("top_p"), QString()), QString());
    EXPECT_EQ(dialog.settings().sampling.topP, 0.95);
}

TEST(SettingsDialog, HasARowForEverySettingOfTheTable)
{
    SettingsDialog dialog{Settings{}};
    for (const SettingInfo& info : settingTable())
        EXPECT_EQ(
            dialog.enter(QString::fromUtf8(info.key.data(), static_cast<qsizetype>(info.key.size())),
                         QString::fromUtf8(info.defaultValue.data(), static_cast<qsizetype>(info.defaultValue.size()))),
            QString())
            << info.key;
}

}  // namespace
}  // namespace tokenscope::ui
