#include "ui/widgets/markdown_stream.h"
#include "ui/widgets/rendered_text.h"

#include <gtest/gtest.h>

#include <QAbstractTextDocumentLayout>
#include <QFile>
#include <QImage>
#include <QTemporaryDir>
#include <QTextBlock>
#include <QTextCursor>
#include <QUrl>

namespace tokenscope::ui {
namespace {

QString sample()
{
    return QStringLiteral(
        "# Title\n\nA paragraph with **bold**, *italic*, `code` and a [link](https://example.org/a_b).\n"
        "Its second line.\n\n"
        "```python\nprint('x')\n\n# still code\n```\n"
        "Right after it.\n\n"
        "1. One\n\n2. Two\n   more\n\n   ```\n   inner\n\n   code\n   ```\n\n3. Three\n\n"
        "End of the list.\n\n"
        "| a | b |\n|---|---|\n| 1 | 2 |\n\n"
        "> quoted\n\n"
        "- [ ] task\n- [x] done\n\n~~~\ntilde ``` inside\n~~~\n\nlast <b>words</b> & more");
}

std::vector<MarkdownBlock> whole(const QString& text)
{
    MarkdownStream stream;
    stream.setText(text, true);
    return stream.blocks();
}

TEST(MarkdownStream, AnyStreamingGivesTheBlocksOfTheWholeText)
{
    const QString text = sample();
    const std::vector<MarkdownBlock> expected = whole(text);
    ASSERT_GT(expected.size(), 8u);
    for (const int piece : {1, 2, 3, 7, 50}) {
        MarkdownStream stream;
        for (int end = piece; end < text.size(); end += piece)
            stream.setText(text.left(end), false);
        stream.setText(text, true);
        ASSERT_EQ(stream.blocks().size(), expected.size()) << "in pieces of " << piece;
        for (std::size_t i = 0; i < expected.size(); ++i)
            EXPECT_TRUE(stream.blocks()[i] == expected[i])
                << "block " << i << " in pieces of " << piece << ": " << stream.blocks()[i].text.toStdString();
    }
}

TEST(MarkdownStream, AClosedBlockNeverChangesWhateverFollows)
{
    const QString text = sample();
    MarkdownStream stream;
    std::vector<MarkdownBlock> closed;
    for (int end = 1; end <= text.size(); ++end) {
        stream.setText(text.left(end), false);
        for (std::size_t i = 0; i < closed.size(); ++i)
            ASSERT_TRUE(stream.blocks()[i] == closed[i]) << "after " << end << " characters";
        closed.clear();
        for (const MarkdownBlock& block : stream.blocks()) {
            if (!block.closed)
                break;
            closed.push_back(block);
        }
    }
}

TEST(MarkdownStream, BlocksRenderToTheTextOfAFullParse)
{
    // Code blocks at top level are rendered apart; the words must be those of Qt's own parse of everything.
    const QString text = sample();
    QTextDocument full;
    QTextDocument::MarkdownFeatures features = QTextDocument::MarkdownDialectGitHub;
    features |= QTextDocument::MarkdownNoHTML;
    full.setMarkdown(text, features);
    QString joined;
    for (const MarkdownBlock& block : whole(text)) {
        const auto document = block.kind == MarkdownBlock::Kind::Code
                                  ? renderCode(block.text, block.language, lightPalette())
                                  : renderProse(block.text, lightPalette());
        joined += document->toPlainText() + QLatin1Char('\n');
    }
    EXPECT_EQ(joined.simplified().toStdString(), full.toPlainText().simplified().toStdString());
}

TEST(MarkdownStream, AnOpenFenceIsACodeBlockAlready)
{
    MarkdownStream stream;
    stream.setText(QStringLiteral("Look:\n\n```cpp\nint a"), false);
    ASSERT_EQ(stream.blocks().size(), 2u);
    EXPECT_EQ(stream.blocks()[1].kind, MarkdownBlock::Kind::Code);
    EXPECT_EQ(stream.blocks()[1].text, QStringLiteral("int a"));
    EXPECT_EQ(stream.blocks()[1].language, QStringLiteral("cpp"));
    EXPECT_FALSE(stream.blocks()[1].closed);
}

TEST(MarkdownStream, TellsHowManyBlocksStayedTheSame)
{
    MarkdownStream stream;
    stream.setText(QStringLiteral("one\n\ntwo\n\nthr"), false);
    EXPECT_EQ(stream.setText(QStringLiteral("one\n\ntwo\n\nthree"), false), 2);
    EXPECT_EQ(stream.setText(QStringLiteral("other"), false), 0);
}

TEST(MarkdownStream, WhatIsBeyondTheLimitStaysPlain)
{
    const QString text = QStringLiteral("word ").repeated(MarkdownStream::kMaxRendered / 5 + 100);
    const std::vector<MarkdownBlock> blocks = whole(text);
    EXPECT_EQ(blocks.back().kind, MarkdownBlock::Kind::Plain);
    EXPECT_EQ(blocks.back().end, text.size());
}

TEST(RenderedText, TagsStayVisibleText)
{
    const auto document =
        renderProse(QStringLiteral("a <think>b</think> <b>c</b> <script>alert(1)</script>"), lightPalette());
    EXPECT_EQ(document->toPlainText(), QStringLiteral("a <think>b</think> <b>c</b> <script>alert(1)</script>"));
}

TEST(RenderedText, AnImageIsNeverLoaded)
{
    QTemporaryDir folder;
    const QString file = folder.filePath(QStringLiteral("secret.png"));
    QImage image(40, 40, QImage::Format_RGB32);
    image.fill(Qt::red);
    ASSERT_TRUE(image.save(file));
    for (const QString& address :
         {QUrl::fromLocalFile(file).toString(), file, QStringLiteral("https://example.org/x.png")}) {
        const auto document = renderProse(QStringLiteral("before ![a picture](%1) after").arg(address), lightPalette());
        document->setTextWidth(400);
        EXPECT_TRUE(document->toPlainText().contains(QStringLiteral("before"))) << address.toStdString();
        EXPECT_FALSE(document->toPlainText().contains(QChar::ObjectReplacementCharacter)) << address.toStdString();
        EXPECT_LT(document->size().height(), 40) << "nothing as tall as the picture";
        EXPECT_FALSE(document->resource(QTextDocument::ImageResource, QUrl(address)).isValid());
    }
}

TEST(RenderedText, OnlyWebAndMailLinksRemainLinks)
{
    EXPECT_TRUE(mayOpen(QUrl(QStringLiteral("https://example.org"))));
    EXPECT_TRUE(mayOpen(QUrl(QStringLiteral("mailto:a@example.org"))));
    for (const char* bad : {"file:///etc/passwd", "javascript:alert(1)", "data:text/html,x", "ftp://x", "relative", ""})
        EXPECT_FALSE(mayOpen(QUrl(QString::fromLatin1(bad)))) << bad;
    const auto document = renderProse(QStringLiteral("[here](file:///etc/passwd)"), lightPalette());
    for (QTextBlock block = document->begin(); block.isValid(); block = block.next())
        for (QTextBlock::iterator it = block.begin(); !it.atEnd(); ++it)
            EXPECT_TRUE(it.fragment().charFormat().anchorHref().isEmpty());
}

// Every word of the rendered text must lead to the same word in the source.
void expectWordsAligned(const QString& source)
{
    const auto document = renderProse(source, lightPalette());
    const QString rendered = document->toPlainText();
    const std::vector<int> places = alignToSource(rendered, source);
    ASSERT_EQ(static_cast<qsizetype>(places.size()), rendered.size());
    for (qsizetype begin = 0; begin < rendered.size();) {
        qsizetype end = begin;
        while (end < rendered.size() && rendered[end].isLetter())
            ++end;
        if (end - begin >= 3) {
            EXPECT_EQ(source.mid(places[static_cast<std::size_t>(begin)], end - begin).toStdString(),
                      rendered.mid(begin, end - begin).toStdString())
                << "in " << source.toStdString();
        }
        begin = std::max(end, begin + 1);
    }
}

TEST(AlignToSource, EveryWordLeadsToItsPlaceInTheSource)
{
    expectWordsAligned(QStringLiteral("plain words only"));
    expectWordsAligned(QStringLiteral("some **bold words** and *italic ones*, then `code words` here"));
    expectWordsAligned(QStringLiteral("a [link text](https://example.org/link/text?link=text) after the link text"));
    expectWordsAligned(QStringLiteral("1. first item\n2. second item\n   - nested item\n3. third item"));
    expectWordsAligned(QStringLiteral("### A heading\nfollowed by text"));
    expectWordsAligned(QStringLiteral("| left | right |\n|------|-------|\n| one | two |\n| three | four |"));
    expectWordsAligned(QStringLiteral("fish &amp; chips &lt;tag&gt; and the rest"));
    expectWordsAligned(QStringLiteral("> quoted line\n> another quoted line"));
    expectWordsAligned(QStringLiteral("2*3*4 is not emphasis, snake_case_name neither"));
}

TEST(AlignToSource, PlacesRiseAndStayInside)
{
    const QString source = sample();
    const auto document = renderProse(source, lightPalette());
    const QString rendered = document->toPlainText();
    int last = 0;
    for (const int place : alignToSource(rendered, source)) {
        EXPECT_GE(place, last);
        EXPECT_LT(place, source.size());
        last = place;
    }
    EXPECT_TRUE(alignToSource(QStringView(), source).empty());
    EXPECT_EQ(alignToSource(QStringLiteral("abc"), QStringView()), (std::vector<int>{0, 0, 0}));
}

}  // namespace
}  // namespace tokenscope::ui
