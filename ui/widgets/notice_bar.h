// One line that says what happened, with at most one thing to do about it: errors, undo, notices. Never a dialog: it
// does not stop the work and stays until it is closed, replaced or (undo) its time is over.
#pragma once

#include <QTimer>
#include <QWidget>

#include <functional>

namespace tokenscope::ui {

class PillButton;
class TextLabel;

class NoticeBar : public QWidget {
    Q_OBJECT

public:
    enum class Kind { Plain, Warning, Error };

    explicit NoticeBar(QWidget* parent = nullptr);

    void show(Kind kind, const QString& text, const QString& actionText = {}, std::function<void()> action = {},
              int milliseconds = 0);
    QString text() const;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    Kind m_kind = Kind::Plain;
    TextLabel* m_text;
    PillButton* m_action;
    PillButton* m_close;
    std::function<void()> m_do;
    QTimer m_timer;
};

}  // namespace tokenscope::ui
