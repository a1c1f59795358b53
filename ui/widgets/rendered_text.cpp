#include "ui/widgets/rendered_text.h"

#include "ui/theme/fonts.h"
#include "ui/widgets/code_colors.h"

#include <QTextBlock>
#include <QTextCursor>
#include <QTextFrame>
#include <QTextTable>
#include <QUrl>

#include <algorithm>

namespace tokenscope::ui {
namespace {

constexpr double kLineHeight = 130;  // per cent

std::unique_ptr<QTextDocument> makeDocument()
{
    auto document = std::make_unique<SafeDocument>();
    document->setUndoRedoEnabled(false);
    document->setDocumentMargin(0);
    document->setDefaultFont(roleFont(FontRole::Body));
    document->setUseDesignMetrics(true);
    return document;
}

void setLineHeights(QTextDocument& document)
{
    for (QTextBlock block = document.begin(); block.isValid(); block = block.next()) {
        QTextBlockFormat format = block.blockFormat();
        format.setLineHeight(kLineHeight, QTextBlockFormat::ProportionalHeight);
        QTextCursor(block).setBlockFormat(format);
    }
}

// An image is shown as its alternative text: nothing is ever loaded. From the end, so that positions stay right.
void replaceImages(QTextDocument& document, const Palette& colors)
{
    struct Image {
        int position;
        QString text;
    };
    std::vector<Image> images;
    for (QTextBlock block = document.begin(); block.isValid(); block = block.next())
        for (QTextBlock::iterator it = block.begin(); !it.atEnd(); ++it) {
            const QTextFragment fragment = it.fragment();
            if (!fragment.charFormat().isImageFormat())
                continue;
            QString text = fragment.charFormat().property(QTextFormat::ImageAltText).toString();
            if (text.isEmpty())
                text = QObject::tr("image");
            for (int i = 0; i < fragment.length(); ++i)
                images.push_back({fragment.position() + i, text});
        }
    for (auto image = images.rbegin(); image != images.rend(); ++image) {
        QTextCursor cursor(&document);
        cursor.setPosition(image->position);
        cursor.setPosition(image->position + 1, QTextCursor::KeepAnchor);
        QTextCharFormat format;
        format.setForeground(colors.dim);
        format.setFontItalic(true);
        cursor.insertText(image->text, format);
    }
}

void styleFragments(QTextBlock block, const Palette& colors)
{
    struct Span {
        int begin, length;
        QTextCharFormat format;
    };
    std::vector<Span> spans;
    const int heading = block.blockFormat().headingLevel();
    for (QTextBlock::iterator it = block.begin(); !it.atEnd(); ++it) {
        const QTextFragment fragment = it.fragment();
        QTextCharFormat format = fragment.charFormat();
        if (heading > 0) {
            QFont font = roleFont(heading == 1 ? FontRole::Big : heading == 2 ? FontRole::Title : FontRole::BodyStrong);
            font.setWeight(QFont::DemiBold);
            font.setItalic(format.fontItalic());
            format.clearProperty(QTextFormat::FontSizeAdjustment);
            format.setFont(font);
        } else if (format.fontFixedPitch() || block.blockFormat().hasProperty(QTextFormat::BlockCodeFence)) {
            format.setFont(roleFont(FontRole::Mono));
            format.setBackground(colors.dark ? colors.raised : colors.grid);
        } else if (format.fontWeight() > QFont::Normal) {
            format.setFontWeight(QFont::DemiBold);
        }
        if (format.isAnchor()) {
            if (mayOpen(QUrl(format.anchorHref()))) {
                format.setForeground(colors.accent);
                format.setFontUnderline(true);
            } else {
                format.setAnchor(false);
                format.setAnchorHref(QString());
                format.setFontUnderline(false);
                format.setForeground(colors.text);
            }
        }
        spans.push_back({fragment.position(), fragment.length(), format});
    }
    for (const Span& span : spans) {
        QTextCursor cursor(block);
        cursor.setPosition(span.begin);
        cursor.setPosition(span.begin + span.length, QTextCursor::KeepAnchor);
        cursor.setCharFormat(span.format);
    }
}

void styleTables(QTextFrame* frame, const Palette& colors)
{
    for (QTextFrame* child : frame->childFrames()) {
        if (auto* table = qobject_cast<QTextTable*>(child)) {
            QTextTableFormat format = table->format();
            format.setBorder(1);
            format.setBorderBrush(colors.line);
            format.setBorderStyle(QTextFrameFormat::BorderStyle_Solid);
            format.setBorderCollapse(true);
            format.setCellPadding(6);
            format.setCellSpacing(0);
            format.setTopMargin(4);
            format.setBottomMargin(8);
            table->setFormat(format);
        }
        styleTables(child, colors);
    }
}

void styleBlocks(QTextDocument& document, const Palette& colors)
{
    for (QTextBlock block = document.begin(); block.isValid(); block = block.next()) {
        QTextBlockFormat format = block.blockFormat();
        const bool inTable = QTextCursor(block).currentTable() != nullptr;
        format.setLineHeight(inTable ? 120.0 : kLineHeight, QTextBlockFormat::ProportionalHeight);
        format.setTopMargin(0);
        if (inTable)
            format.setBottomMargin(0);
        else if (block.textList())
            format.setBottomMargin(3);
        else
            format.setBottomMargin(format.headingLevel() > 0 ? 4 : 6);
        if (format.hasProperty(QTextFormat::BlockQuoteLevel)) {
            format.setLeftMargin(14.0 * format.intProperty(QTextFormat::BlockQuoteLevel));
            format.setRightMargin(0);
        }
        QTextCursor(block).setBlockFormat(format);
        styleFragments(block, colors);
    }
}

bool sameCharacter(QChar a, QChar b)
{
    return a == b || (a.isSpace() && b.isSpace());
}

int agreement(QStringView rendered, qsizetype r, QStringView source, qsizetype s, int longest)
{
    int length = 0;
    while (length < longest && r + length < rendered.size() && s + length < source.size() &&
           sameCharacter(rendered[r + length], source[s + length]))
        ++length;
    return length;
}

}  // namespace

QVariant SafeDocument::loadResource(int, const QUrl&)
{
    return {};
}

bool mayOpen(const QUrl& url)
{
    const QString scheme = url.scheme().toLower();
    return url.isValid() &&
           (scheme == QLatin1String("http") || scheme == QLatin1String("https") || scheme == QLatin1String("mailto"));
}

std::unique_ptr<QTextDocument> renderProse(const QString& markdown, const Palette& colors)
{
    auto document = makeDocument();
    QTextDocument::MarkdownFeatures features = QTextDocument::MarkdownDialectGitHub;
    features |= QTextDocument::MarkdownNoHTML;
    document->setMarkdown(markdown, features);
    replaceImages(*document, colors);
    styleBlocks(*document, colors);
    styleTables(document->rootFrame(), colors);
    document->setIndentWidth(22);
    return document;
}

std::unique_ptr<QTextDocument> renderCode(const QString& code, const QString& language, const Palette& colors)
{
    auto document = makeDocument();
    document->setDefaultFont(roleFont(FontRole::Mono));
    document->setPlainText(code);
    setLineHeights(*document);
    colorCode(*document, language, colors);
    return document;
}

std::unique_ptr<QTextDocument> renderPlain(const QString& text, const Palette&)
{
    auto document = makeDocument();
    document->setPlainText(text);
    setLineHeights(*document);
    return document;
}

std::vector<int> alignToSource(QStringView rendered, QStringView source)
{
    constexpr int kWindow = 400;  // how far a marker or a link's target may reach
    constexpr int kSure = 6;      // an agreement as long as this ends the search
    std::vector<int> places;
    places.reserve(static_cast<std::size_t>(rendered.size()));
    qsizetype s = 0;
    bool inStep = false;
    for (qsizetype r = 0; r < rendered.size(); ++r) {
        if (!(inStep && s < source.size() && sameCharacter(rendered[r], source[s]))) {
            qsizetype best = -1;
            int bestLength = 0;
            for (qsizetype at = s; at < std::min(source.size(), s + kWindow); ++at) {
                const int length = agreement(rendered, r, source, at, kSure);
                // A block separator agrees with any space: alone it says nothing.
                if (length > bestLength && (length > 1 || !rendered[r].isSpace() || at == s)) {
                    best = at;
                    bestLength = length;
                    if (length == kSure)
                        break;
                }
            }
            inStep = best >= 0;
            if (inStep)
                s = best;
        }
        places.push_back(static_cast<int>(std::min(s, std::max<qsizetype>(0, source.size() - 1))));
        if (inStep)
            ++s;
    }
    return places;
}

}  // namespace tokenscope::ui
