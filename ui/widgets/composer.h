// Where a message is written: Enter sends, Shift+Enter breaks the line, Esc stops the answer (or leaves an edit). Text
// files dropped or pasted become attachments, which are sent as quoted text in front of the message. What was written
// stays until it was taken.
#pragma once

#include <QPlainTextEdit>
#include <QWidget>

#include <vector>

class QHBoxLayout;

namespace tokenscope::ui {

class PillButton;
class TextLabel;

class ComposerEdit : public QPlainTextEdit {
    Q_OBJECT

public:
    explicit ComposerEdit(QWidget* parent = nullptr);

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

signals:
    void sendPressed();
    void escapePressed();
    void upPressedWhenEmpty();
    void filesGiven(const QStringList& paths);

protected:
    void keyPressEvent(QKeyEvent* event) override;
    bool canInsertFromMimeData(const QMimeData* source) const override;
    void insertFromMimeData(const QMimeData* source) override;
    void changeEvent(QEvent* event) override;

private:
    void restyle();
    bool m_restyling = false;
};

struct Attachment {
    QString name;
    QString text;
    qint64 bytes = 0;
};

class Composer : public QWidget {
    Q_OBJECT

public:
    static constexpr qint64 kMaxAttachmentBytes = 256 * 1024;  // far above any context a CPU fills in a minute
    static constexpr int kMaxAttachments = 5;

    explicit Composer(QWidget* parent = nullptr);

    // Why nothing can be sent; empty: it can. Shown as the placeholder.
    void setBlocked(const QString& reason);
    void setPlaceholder(const QString& text);
    void setHint(const QString& text);  // a line under the field, empty: none
    void setAnswering(bool answering);
    void setSystemPromptSet(bool set);

    // The message with its attachments, as it is sent.
    QString message() const;
    void clear();
    QString draft() const;
    void setDraft(const QString& text);

    void beginEdit(qint64 message, const QString& text);
    qint64 editing() const { return m_editing; }  // 0: none
    void endEdit();

    void attachFiles(const QStringList& paths);
    const std::vector<Attachment>& attachments() const { return m_attachments; }
    ComposerEdit* edit() { return m_edit; }

signals:
    void sendRequested();
    void stopRequested();
    void editLastRequested();
    void systemPromptRequested();
    void filesGiven(const QStringList& paths);  // dropped or pasted; texts among them come back by attachFiles()
    void problem(const QString& sentence);

protected:
    void mousePressEvent(QMouseEvent* event) override;
    void paintEvent(QPaintEvent* event) override;

private:
    void showAttachments();
    void refresh();
    void pressed();

    ComposerEdit* m_edit;
    QWidget* m_chips;
    QHBoxLayout* m_chipRow;
    TextLabel* m_editLabel;
    PillButton* m_attach;
    PillButton* m_system;
    PillButton* m_send;
    TextLabel* m_hint;
    std::vector<Attachment> m_attachments;
    QString m_blocked, m_placeholder, m_beforeEdit;
    qint64 m_editing = 0;
    bool m_answering = false;
};

}  // namespace tokenscope::ui
