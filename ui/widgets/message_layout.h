// One message laid out for a row of the transcript: a user's bubble or an answer's blocks, its notices and its line of
// figures. Painted and hit-tested by the view; positions are counted over the whole message as it is shown.
#pragma once

#include "ui/models/transcript_model.h"
#include "ui/widgets/markdown_stream.h"
#include "ui/widgets/metric_cells.h"

#include <QPointF>
#include <QRectF>
#include <QTextDocument>

#include <memory>
#include <optional>
#include <vector>

class QPainter;

namespace tokenscope::ui {

struct Palette;

enum class MessageAction { None, Copy, Regenerate, Continue, Edit, PreviousSibling, NextSibling };

struct MessageHit {
    std::optional<int> position;  // exactly under the point
    int nearest = 0;              // for selecting
    MessageAction action = MessageAction::None;
    int codeBlock = -1;  // its copy button
    QString link;
    QString tip;
};

struct MessagePaint {
    TextRange selection;
    TextRange marked;  // the token under the mouse, here or in the scope
    std::vector<TextRange> found;
    int currentFound = -1;
    bool active = false;  // hovered or current: shows its actions
    bool focused = false;
    int hoveredCode = -1;
    QRectF clip;  // of the row, in its own coordinates
};

class MessageLayout {
public:
    // Lays out again what changed; `parseText` false keeps the text of the last time (it is parsed at 10 Hz only).
    void update(const TranscriptItem& item, int rowWidth, const Palette& colors, bool parseText = true);
    int height() const { return m_height; }

    void paint(QPainter& painter, const Palette& colors, const MessagePaint& state) const;
    MessageHit hit(const QPointF& point) const;

    int length() const;
    QString textOf(TextRange range) const;  // as shown, for the clipboard
    QString codeOf(int block) const;
    // In the source, of the character shown at `position`.
    int sourceOf(int position) const;
    // What a range of the source looks like: spaces at its edges left out; where it leaves only syntax, the next word
    // that can be seen.
    std::optional<TextRange> shownRange(TextRange source) const;
    std::vector<QRectF> rectsOf(TextRange shown) const;
    TextRange wordAt(int position) const;
    std::vector<TextRange> find(const QString& needle) const;

private:
    struct Part {
        MarkdownBlock block;
        std::unique_ptr<QTextDocument> document;
        QPointF origin;  // of the document in the row
        QRectF frame;    // of a code block
        QRectF copy;     // its button
        bool hasQuote = false;
        int base = 0;                     // position of its first character in the message
        mutable std::vector<int> places;  // source position of each character; made when first asked for
    };
    struct Button {
        MessageAction action;
        QRectF place;
    };

    void parse(const TranscriptItem& item, const Palette& colors);
    void layOut(const TranscriptItem& item, int rowWidth);
    const std::vector<int>& placesOf(const Part& part) const;
    const Part* partAt(int position) const;
    void paintFoot(QPainter& painter, const Palette& colors, const MessagePaint& state) const;
    void paintCaret(QPainter& painter, const Palette& colors) const;

    MarkdownStream m_stream;
    std::vector<Part> m_parts;
    QString m_source;  // that the parts were made from
    bool m_fromUser = false;
    bool m_streaming = false;
    bool m_parsedFinished = false;
    QRectF m_bubble;
    QString m_statusText, m_errorText;
    QStringList m_notices;
    QRectF m_statusPlace, m_errorPlace, m_noticePlace, m_foot;
    std::vector<MetricCell> m_cells;
    std::vector<Button> m_buttons;
    QString m_siblings;
    QRectF m_siblingPlace, m_previous, m_next;
    int m_height = 0;
};

QString actionName(MessageAction action);

}  // namespace tokenscope::ui
