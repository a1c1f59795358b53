#include "ui/widgets/code_colors.h"

#include <QSet>
#include <QTextBlock>
#include <QTextDocument>
#include <QTextLayout>

namespace tokenscope::ui {
namespace {

constexpr int kMaxColored = 16 * 1024;  // characters; longer code stays plain

const QSet<QString>& keywords()
{
    static const QSet<QString> words = [] {
        const QString all = QStringLiteral(
            "and as assert async await auto bool break case catch char class const constexpr continue def default del "
            "do "
            "double elif else enum except export extends extern false finally float fn for from func function if impl "
            "import in int interface is lambda let long match mod mut namespace new nil None nonlocal not null nullptr "
            "operator or package pass private protected pub public raise return self short signed sizeof static struct "
            "super switch template this throw true True False try type typedef typename undefined union unsigned use "
            "using var virtual void while with yield select where insert update delete create table values join echo "
            "then fi done esac");
        const QStringList list = all.split(u' ');
        return QSet<QString>(list.begin(), list.end());
    }();
    return words;
}

struct Rules {
    bool hash = true;     // # begins a comment
    bool slashes = true;  // // does
    bool dashes = false;  // -- does
};

Rules rulesOf(const QString& language)
{
    const QString name = language.toLower();
    if (name == QLatin1String("sql") || name == QLatin1String("lua") || name == QLatin1String("haskell"))
        return {false, false, true};
    static const QSet<QString> cLike{QStringLiteral("c"),          QStringLiteral("cpp"),  QStringLiteral("c++"),
                                     QStringLiteral("js"),         QStringLiteral("ts"),   QStringLiteral("javascript"),
                                     QStringLiteral("typescript"), QStringLiteral("java"), QStringLiteral("go"),
                                     QStringLiteral("rust"),       QStringLiteral("cs"),   QStringLiteral("css")};
    if (cLike.contains(name))
        return {false, true, false};
    return {true, name.isEmpty(), false};
}

// `open`: the quotes of a text of several lines that is still open at the line's begin, then at its end.
QList<QTextLayout::FormatRange> colorLine(const QString& line, const Rules& rules, const Palette& colors, QString& open)
{
    QList<QTextLayout::FormatRange> ranges;
    const auto add = [&](qsizetype from, qsizetype to, const QColor& color) {
        QTextLayout::FormatRange range;
        range.start = static_cast<int>(from);
        range.length = static_cast<int>(to - from);
        range.format.setForeground(color);
        ranges.append(range);
    };
    qsizetype begin = 0;
    if (!open.isEmpty()) {
        const qsizetype close = line.indexOf(open);
        begin = close < 0 ? line.size() : close + open.size();
        add(0, begin, colors.good);
        if (close >= 0)
            open.clear();
    }
    for (qsizetype i = begin; i < line.size();) {
        const QChar c = line[i];
        if (const QString quotes = line.mid(i, 3);
            rules.hash && (quotes == QLatin1String("\"\"\"") || quotes == QLatin1String("'''"))) {
            const qsizetype close = line.indexOf(quotes, i + 3);
            if (close < 0)
                open = quotes;
            const qsizetype textEnd = close < 0 ? line.size() : close + 3;
            add(i, textEnd, colors.good);
            i = textEnd;
            continue;
        }
        const bool comment =
            (rules.hash && c == u'#') || (i + 1 < line.size() && ((rules.slashes && c == u'/' && line[i + 1] == u'/') ||
                                                                  (rules.dashes && c == u'-' && line[i + 1] == u'-')));
        qsizetype end = i + 1;
        if (comment) {
            add(i, line.size(), colors.faint);
            break;
        }
        if (c == u'"' || c == u'\'') {
            while (end < line.size() && line[end] != c)
                end += line[end] == u'\\' ? 2 : 1;
            if (end < line.size())
                add(i, ++end, colors.good);
            else
                end = i + 1;  // an apostrophe, not a string
        } else if (c.isDigit()) {
            while (end < line.size() && (line[end].isLetterOrNumber() || line[end] == u'.'))
                ++end;
            add(i, end, colors.s3text);
        } else if (c.isLetter() || c == u'_') {
            while (end < line.size() && (line[end].isLetterOrNumber() || line[end] == u'_'))
                ++end;
            if (keywords().contains(line.mid(i, end - i)))
                add(i, end, colors.accent);
        }
        i = end;
    }
    return ranges;
}

}  // namespace

void colorCode(QTextDocument& document, const QString& language, const Palette& colors)
{
    if (document.characterCount() > kMaxColored)
        return;
    const Rules rules = rulesOf(language);
    QString open;
    for (QTextBlock block = document.begin(); block.isValid(); block = block.next())
        block.layout()->setFormats(colorLine(block.text(), rules, colors, open));
}

}  // namespace tokenscope::ui
