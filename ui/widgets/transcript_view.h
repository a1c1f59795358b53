// The conversation: a one-column table whose rows are measured when they are first seen, so that 20,000 messages open
// at once. The reader keeps the place: what is above may change its height without moving what is read, and the end is
// followed only while the reader is at the end.
#pragma once

#include "ui/models/transcript_model.h"
#include "ui/widgets/message_layout.h"

#include <QSet>
#include <QTableView>
#include <QTimer>

#include <memory>
#include <unordered_map>

namespace tokenscope::ui {

class PillButton;

class TranscriptView : public QTableView {
    Q_OBJECT

public:
    explicit TranscriptView(QWidget* parent = nullptr);
    ~TranscriptView() override;

    void setTranscript(TranscriptModel* model);
    bool followsEnd() const { return m_follow; }
    void followEnd();

    QString selectedText() const;
    void selectAll() override;
    void copySelection();                 // the selection, else the current message
    std::int64_t currentMessage() const;  // 0: none

    // Find: gives how many messages hold it; `findNext` moves on (or back) and scrolls there.
    int setFind(const QString& needle);
    bool findNext(bool backwards);

    const MessageLayout* layoutOf(int row);

public slots:
    // Marks a token's word, as the scope asks for; token −1 clears the mark.
    void highlightToken(qint64 message, int token);

signals:
    void tokenHovered(qint64 message, int token);  // −1: none
    void actionRequested(qint64 message, tokenscope::ui::MessageAction action);
    void linkActivated(const QUrl& url);
    void menuRequested(qint64 message, const QPoint& globalPosition);
    void copied();

protected:
    void resizeEvent(QResizeEvent* event) override;
    void scrollContentsBy(int dx, int dy) override;
    void showEvent(QShowEvent* event) override;
    void changeEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    bool viewportEvent(QEvent* event) override;

private:
    struct Place {  // of one character
        int row = -1;
        int position = 0;
        bool operator<(const Place& other) const
        {
            return row != other.row ? row < other.row : position < other.position;
        }
    };
    struct Cached {
        MessageLayout layout;
        bool fresh = false;
        std::uint64_t used = 0;
    };
    class Delegate;

    void rowsChanged(int first, int last);
    void forgetLayouts();
    void measureVisible();
    MessageLayout& layoutFor(int row);
    void dropOldLayouts();
    void placeJump();
    void setFollow(bool follow);
    void scrollBy(int pixels);
    MessagePaint paintState(int row, const QRect& rowRect) const;
    std::pair<int, MessageHit> hitAt(const QPoint& point);
    void setHovered(int row, const MessageHit& hit);
    TextRange selectionIn(int row) const;
    void showFound();

    TranscriptModel* m_model = nullptr;
    std::unordered_map<std::int64_t, Cached> m_layouts;
    std::uint64_t m_use = 0;
    QSet<int> m_measured;
    bool m_measuring = false;
    bool m_follow = true;
    QTimer m_parseLater;  // the tail of an answer is parsed at 10 Hz
    qint64 m_parsedMs = 0;

    bool m_selecting = false;
    Place m_anchor, m_cursor;
    int m_hoveredRow = -1;
    int m_hoveredCode = -1;
    qint64 m_hoveredMessage = 0;
    int m_hoveredToken = -1;
    qint64 m_markedMessage = 0;
    int m_markedToken = -1;

    QString m_needle;
    int m_foundRow = -1;
    int m_foundIndex = -1;
    PillButton* m_jump;
};

}  // namespace tokenscope::ui
