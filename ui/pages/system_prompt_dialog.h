// The system prompt of a chat: what the model is told before the first message.
#pragma once

#include <QDialog>

class QPlainTextEdit;

namespace tokenscope::ui {

class SystemPromptDialog : public QDialog {
    Q_OBJECT

public:
    explicit SystemPromptDialog(const QString& text, QWidget* parent = nullptr);

    QString text() const;

private:
    QPlainTextEdit* m_edit;
};

}  // namespace tokenscope::ui
