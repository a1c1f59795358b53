#include "ui/models/transcript_model.h"
#include "ui/widgets/find_bar.h"
#include "ui/widgets/message_layout.h"
#include "ui/widgets/search_field.h"
#include "ui/widgets/transcript_view.h"

#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QApplication>
#include <QClipboard>
#include <QElapsedTimer>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTest>

namespace tokenscope::ui {
namespace {

TranscriptItem question(std::int64_t id, const QString& text)
{
    TranscriptItem item;
    item.id = id;
    item.fromUser = true;
    item.text = text;
    return item;
}

// Tokens of four characters; ASCII only.
TranscriptItem answer(std::int64_t id, const QString& text, MessageLook look = MessageLook::Complete)
{
    TranscriptItem item;
    item.id = id;
    item.text = text;
    item.look = look;
    std::vector<TokenStamp> stamps;
    const std::string utf8 = text.toStdString();
    for (std::uint32_t at = 0; at < utf8.size(); at += 4) {
        TokenStamp stamp;
        stamp.textBegin = at;
        stamp.textEnd = std::min<std::uint32_t>(at + 4, static_cast<std::uint32_t>(utf8.size()));
        stamps.push_back(stamp);
    }
    item.tokens = TokenRanges(utf8, stamps);
    return item;
}

std::vector<TranscriptItem> conversation(int turns)
{
    std::vector<TranscriptItem> items;
    for (int turn = 0; turn < turns; ++turn) {
        items.push_back(question(2 * turn + 1, QStringLiteral("Question %1").arg(turn)));
        items.push_back(
            answer(2 * turn + 2, QStringLiteral("An answer of **several** words, long enough to need more than "
                                                "one line in a window of usual width. ")
                                     .repeated(1 + turn % 5)));
    }
    return items;
}

class Transcript : public testing::Test {
protected:
    Transcript()
    {
        view.setTranscript(&model);
        view.resize(620, 480);
        view.show();
    }
    bool atEnd() const { return view.verticalScrollBar()->value() == view.verticalScrollBar()->maximum(); }

    TranscriptModel model;
    TranscriptView view;
};

TEST_F(Transcript, ModelKeepsTheContractOfQt)
{
    QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
    model.setItems(conversation(3));
    model.setItems(conversation(5));
    model.updateItem(answer(4, QStringLiteral("changed")));
    model.setItems({});
    EXPECT_EQ(model.rowCount(), 0);
}

TEST_F(Transcript, TwentyThousandMessagesOpenByMeasuringOnlyWhatIsSeen)
{
    model.setItems(conversation(10'000));
    view.grab();
    EXPECT_EQ(model.rowCount(), 20'000);
    EXPECT_TRUE(atEnd());
    // Rows at the other end keep the guess until somebody looks.
    EXPECT_EQ(view.rowHeight(10), view.rowHeight(11));
    EXPECT_NE(view.rowHeight(19'998), view.rowHeight(19'999));
}

TEST_F(Transcript, FollowsTheEndOnlyWhileTheReaderIsThere)
{
    model.setItems(conversation(30));
    std::vector<TranscriptItem> more = conversation(31);
    model.setItems(more);
    EXPECT_TRUE(atEnd());

    view.verticalScrollBar()->setValue(400);
    EXPECT_FALSE(view.followsEnd());
    const int row = view.rowAt(200);
    const int place = view.rowViewportPosition(row);
    model.setItems(conversation(33));
    EXPECT_EQ(view.rowViewportPosition(row), place) << "what is read must not move";
    EXPECT_FALSE(atEnd());

    view.followEnd();
    EXPECT_TRUE(atEnd());
}

TEST_F(Transcript, ScrollingUpThroughUnseenRowsKeepsTheTextUnderTheEye)
{
    model.setItems(conversation(200));
    QScrollBar* bar = view.verticalScrollBar();
    for (int step = 0; step < 40; ++step) {
        const int row = view.rowAt(view.viewport()->height() / 2);
        const int before = view.rowViewportPosition(row);
        bar->setValue(bar->value() - 60);
        ASSERT_NEAR(view.rowViewportPosition(row), before + 60, 1) << "step " << step;
    }
}

TEST_F(Transcript, HoveringAWordTellsItsToken)
{
    model.setItems({question(1, QStringLiteral("Q")), answer(2, QStringLiteral("some **bold** words here"))});
    QSignalSpy hovered(&view, &TranscriptView::tokenHovered);
    const MessageLayout* layout = view.layoutOf(1);
    // The shown text is "some bold words here"; "words" stands at 10 there and at 14 in the source: token 3.
    const QRectF place = layout->rectsOf({10, 11}).at(0);
    const QPoint point(qRound(place.center().x()), qRound(place.center().y()) + view.rowViewportPosition(1));
    QTest::mouseMove(view.viewport(), point);
    ASSERT_EQ(hovered.count(), 1);
    EXPECT_EQ(hovered.at(0).at(0).toLongLong(), 2);
    EXPECT_EQ(hovered.at(0).at(1).toInt(), 3);
}

TEST_F(Transcript, ATokenMarksItsWordsAndSyntaxMarksTheNextWord)
{
    model.setItems({answer(7, QStringLiteral("abc **bold** word\n\n```cpp\nint x;\n```\nend"))});
    const MessageLayout* layout = view.layoutOf(0);
    const auto shown = [&](int begin, int end) {
        const std::optional<TextRange> range = layout->shownRange({begin, end});
        return range ? layout->textOf(*range) : QStringLiteral("nothing");
    };
    EXPECT_EQ(shown(6, 10), QStringLiteral("bold"));
    EXPECT_EQ(shown(3, 6), QStringLiteral("bold")) << "space and stars mark the word that follows";
    EXPECT_EQ(shown(12, 17), QStringLiteral("word")) << "the space before a word is not marked";
    EXPECT_EQ(shown(19, 25), QStringLiteral("int")) << "the opening fence marks the code's first word";
    EXPECT_EQ(shown(26, 29), QStringLiteral("int"));
    EXPECT_EQ(shown(32, 36), QStringLiteral("end")) << "the closing fence marks what comes after";
}

TEST_F(Transcript, EveryTokenOfAnAnswerFindsAPlaceThatLeadsBackToIt)
{
    const QString text = QStringLiteral("# Title\n\nWords with *emphasis* and `code`.\n\n1. one item\n2. two items\n");
    const TranscriptItem item = answer(3, text);
    model.setItems({item});
    const MessageLayout* layout = view.layoutOf(0);
    for (int token = 0; token < item.tokens.count(); ++token) {
        const std::optional<TextRange> shown = layout->shownRange(item.tokens.at(token));
        if (!shown)
            continue;  // the very last line feed
        const std::optional<int> back = item.tokens.tokenAt(layout->sourceOf(shown->begin));
        ASSERT_TRUE(back.has_value());
        EXPECT_GE(*back, token);
        EXPECT_LE(*back, token + 2) << "syntax may pass the mark on, not far";
    }
}

TEST_F(Transcript, SelectionReachesAcrossMessagesAndIsCopied)
{
    model.setItems({question(1, QStringLiteral("First")), answer(2, QStringLiteral("Second **bold** <tag>"))});
    view.setFocus();
    view.selectAll();
    view.copySelection();
    EXPECT_EQ(QApplication::clipboard()->text(), QStringLiteral("First\n\nSecond bold <tag>"));
}

TEST_F(Transcript, FindWalksThroughAllPlacesAndRound)
{
    model.setItems({answer(1, QStringLiteral("needle and **needle**")), question(2, QStringLiteral("nothing")),
                    answer(3, QStringLiteral("a Needle in upper case"))});
    EXPECT_EQ(view.setFind(QStringLiteral("needle")), 2);
    std::vector<std::int64_t> visited;
    for (int i = 0; i < 4; ++i) {
        ASSERT_TRUE(view.findNext(false));
        visited.push_back(view.currentMessage());
    }
    EXPECT_EQ(visited, (std::vector<std::int64_t>{1, 1, 3, 1}));
    ASSERT_TRUE(view.findNext(true));
    EXPECT_EQ(view.currentMessage(), 3);
    EXPECT_EQ(view.setFind(QStringLiteral("absent")), 0);
    EXPECT_FALSE(view.findNext(false));
}

TEST_F(Transcript, ActionsAppearOnHoverAndSayWhatTheyDo)
{
    TranscriptItem item = answer(5, QStringLiteral("text"));
    item.siblingCount = 3;
    item.siblingIndex = 1;
    item.stopReason = StopReason::Length;
    model.setItems({item});
    const MessageLayout* layout = view.layoutOf(0);
    std::set<MessageAction> seen;
    for (int x = 0; x < view.viewport()->width(); x += 4)
        for (int y = 0; y < layout->height(); y += 4)
            if (const MessageHit hit = layout->hit(QPointF(x, y)); hit.action != MessageAction::None) {
                seen.insert(hit.action);
                EXPECT_FALSE(hit.tip.isEmpty());
            }
    EXPECT_EQ(seen, (std::set{MessageAction::Copy, MessageAction::Regenerate, MessageAction::Continue,
                              MessageAction::PreviousSibling, MessageAction::NextSibling}));
}

TEST_F(Transcript, EveryFigureHasADefinition)
{
    TranscriptItem item = answer(5, QStringLiteral("text"));
    RequestMetrics metrics;
    metrics.ttftMs = 65;
    metrics.tpotMs = 6.3;
    metrics.decodeTokensPerSecond = 158;
    metrics.promptTokens = 41;
    metrics.outputTokens = 52;
    metrics.cachedTokens = 12;
    item.metrics = metrics;
    item.stopReason = StopReason::Eos;
    const std::vector<MetricCell> cells = metricCells(item);
    EXPECT_EQ(cells.size(), 6u);
    for (const MetricCell& cell : cells)
        EXPECT_FALSE(cell.definition.isEmpty()) << cell.label.toStdString();
    item.metrics->tpotMs.reset();
    EXPECT_EQ(metricCells(item).size(), 5u) << "an absent value is left out, never 0";
}

TEST_F(Transcript, MessagesAreNamedForScreenReaders)
{
    model.setItems({question(1, QStringLiteral("Why?")), answer(2, QStringLiteral("Because."))});
    EXPECT_EQ(model.index(0, 0).data(Qt::AccessibleTextRole).toString(), QStringLiteral("You: Why?"));
    EXPECT_EQ(model.index(1, 0).data(Qt::AccessibleTextRole).toString(), QStringLiteral("Answer: Because."));
}

}  // namespace
}  // namespace tokenscope::ui
