#include "ui/charts/scope_view.h"

#include "ui/charts/kv_bar.h"
#include "ui/charts/scope_card.h"
#include "ui/theme/theme.h"

#include <QAbstractItemModelTester>
#include <QAbstractTableModel>
#include <QSignalSpy>
#include <QTest>

#include <gtest/gtest.h>

namespace tokenscope::ui {
namespace {

constexpr Nanoseconds kMs = 1'000'000;

RequestTrace trace(int tokens)
{
    RequestTrace made;
    made.tokenisedNs = kMs / 2;
    made.admittedNs = 2 * kMs;
    made.promptTokens = 410;
    made.kvBlocksPeak = 17;
    made.kvBytesPeak = 17 * 737'280;
    made.chunks = {{.endNs = 61 * kMs, .tokens = 410, .stepId = 1}};
    Nanoseconds now = 2 * kMs;
    for (int i = 0; i < tokens; ++i) {
        StepRecord step;
        step.stepId = static_cast<std::uint32_t>(i + 1);
        step.startNs = now;
        const bool spike = i > 0 && i % 29 == 0;
        step.computedNs = now + (i == 0 ? 59 * kMs : 6 * kMs + (i * 37 % 11) * kMs / 20 + (spike ? 4 * kMs : 0));
        step.endNs = step.computedNs + kMs / 5;
        step.weightBytes = 95'000'000;
        step.kvReadBytes = static_cast<std::uint64_t>(23'040 * (410 + i));
        step.newBlocks = spike ? 1 : 0;
        step.sequences = 1;
        step.rows = 1;
        now = step.endNs;
        made.steps.push_back(step);
        made.tokens.push_back({.id = i, .committedNs = now, .stepId = step.stepId});
    }
    return made;
}

LoadedModelInfo model()
{
    LoadedModelInfo info;
    info.blockCount = 128;
    info.blockBytes = 737'280;
    info.context = 4096;
    info.budget.kvBytesPerToken = 23'040;
    return info;
}

std::unique_ptr<ScopeView> scopeWith(const RequestTrace& shown)
{
    auto scope = std::make_unique<ScopeView>();
    scope->model().setModel(model());
    scope->model().setCeilings(MeasuredCeilings{.readBytesPerSecond = 19.6e9, .int8MacsPerSecond = 2e11});
    scope->model().show(shown, {});
    scope->resize(400, 640);
    scope->refresh();
    return scope;
}

template <typename T>
T* child(const QWidget& parent, int index)
{
    return parent.findChildren<T*>().value(index);
}

TEST(ScopeView, TheTableTwinHoldsEveryGap)
{
    const auto scope = scopeWith(trace(120));
    const auto cards = scope->findChildren<ScopeCard*>();
    ASSERT_EQ(cards.size(), 4);
    for (ScopeCard* card : cards) {
        EXPECT_FALSE(card->summary().isEmpty());
        EXPECT_FALSE(card->accessibleName().isEmpty());
        EXPECT_EQ(card->accessibleDescription(), card->summary());
        QAbstractItemModelTester tester(card->tableModel(), QAbstractItemModelTester::FailureReportingMode::Fatal);
    }
    EXPECT_EQ(cards[1]->tableModel()->rowCount(), 119);
    EXPECT_EQ(child<TimelineChart>(*scope, 0)->data().points.size(), 119u);
}

TEST(ScopeView, HoveringAGapMarksItsTokenInBothChartsAndTellsTheText)
{
    const auto scope = scopeWith(trace(120));
    QSignalSpy hovered(scope.get(), &ScopeView::tokenHovered);
    auto* gaps = child<TimelineChart>(*scope, 0);
    emit gaps->pointHovered(28);
    EXPECT_EQ(hovered.size(), 1);
    EXPECT_EQ(hovered[0][0].toInt(), 29);
    EXPECT_EQ(scope->markedToken(), 29);
    EXPECT_EQ(child<TimelineChart>(*scope, 1)->marker(), 28);
    scope->markToken(-1);
    EXPECT_EQ(gaps->marker(), -1);
}

TEST(ScopeView, TheFirstTokenHasNoGapToMark)
{
    const auto scope = scopeWith(trace(10));
    scope->markToken(0);
    EXPECT_EQ(child<TimelineChart>(*scope, 0)->marker(), -1);
}

TEST(ScopeView, TheArrowKeysWalkThroughTheGaps)
{
    const auto scope = scopeWith(trace(10));
    auto* gaps = child<TimelineChart>(*scope, 0);
    QTest::keyClick(gaps, Qt::Key_Right);
    EXPECT_EQ(scope->markedToken(), 1);
    QTest::keyClick(gaps, Qt::Key_End);
    EXPECT_EQ(scope->markedToken(), 9);
    QTest::keyClick(gaps, Qt::Key_Left);
    EXPECT_EQ(scope->markedToken(), 8);
}

TEST(ScopeView, FrozenItKeepsThePictureWhileDataGoOn)
{
    const auto scope = scopeWith(trace(40));
    scope->show();
    scope->setFrozen(true);
    scope->model().show(trace(80), {});
    scope->modelChanged();
    QTest::qWait(450);
    EXPECT_EQ(child<TimelineChart>(*scope, 0)->data().points.size(), 39u);
    scope->setFrozen(false);
    EXPECT_EQ(child<TimelineChart>(*scope, 0)->data().points.size(), 79u);
}

TEST(ScopeView, BothChartsShareOneAxisInTokensAndInTime)
{
    const auto scope = scopeWith(trace(130));
    auto *gaps = child<TimelineChart>(*scope, 0), *bandwidth = child<TimelineChart>(*scope, 1);
    EXPECT_EQ(gaps->data().xEnd, 240);
    EXPECT_EQ(bandwidth->data().xEnd, 240);
    scope->setAxis(ScopeView::Axis::Time);
    EXPECT_EQ(gaps->data().xEnd, bandwidth->data().xEnd);
    EXPECT_NEAR(gaps->data().points.back().x, static_cast<double>(trace(130).tokens.back().committedNs) / 1e9, 1e-9);
}

TEST(ScopeView, WithoutAnAnswerEveryCardSaysSo)
{
    ScopeView scope;
    EXPECT_TRUE(scope.summary().contains(QStringLiteral("No answer has begun yet.")));
    EXPECT_TRUE(scope.summary().contains(QStringLiteral("No model is loaded.")));
}

TEST(KvBar, TheForecastNamesTheTokensThatAreLeft)
{
    KvFill fill;
    fill.tokens = 4096;
    fill.context = 4096;
    EXPECT_TRUE(kvForecast(fill).contains(QStringLiteral("full")));
    fill.tokens = 4000;
    EXPECT_TRUE(kvForecast(fill).contains(QStringLiteral("96 more")));
}

TEST(ScopeView, APictureOfItForEachTheme)
{
    const QByteArray folder = qgetenv("TOKENSCOPE_PICTURES");
    Theme theme;
    for (const ThemeChoice choice : {ThemeChoice::Light, ThemeChoice::Dark}) {
        theme.setChoice(choice);
        const auto scope = scopeWith(trace(120));
        scope->setAutoFillBackground(true);
        scope->show();
        scope->markToken(58);
        const QImage picture = scope->grab().toImage();
        ASSERT_EQ(picture.size(), QSize(400, 640) * scope->devicePixelRatio());
        // The card is in the panel's colour: the charts took the theme.
        EXPECT_EQ(picture.pixelColor(picture.width() / 2, 16).lightness() < 128, choice == ThemeChoice::Dark);
        if (!folder.isEmpty())
            picture.save(QString::fromLocal8Bit(folder) + QStringLiteral("/scope-") + themeChoiceName(choice) +
                         QStringLiteral(".png"));
    }
}

}  // namespace
}  // namespace tokenscope::ui
