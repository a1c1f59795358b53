// --screenshot: the real window, a model if one is named, an answer to the prompt; then the picture, and the program
// ends with the exit code of `finished`.
#pragma once

#include "ui/models/chat_session.h"
#include "ui/models/model_controller.h"

#include <QObject>
#include <QString>

namespace tokenscope::ui {

class MainWindow;

class Screenshot : public QObject {
    Q_OBJECT

public:
    Screenshot(MainWindow& window, ModelController& model, ChatSession& session, QObject* parent = nullptr);

    // `model` and `prompt` may be empty.
    void take(const QString& file, const QString& model, const QString& prompt);

signals:
    void finished(int exitCode, const QString& error);

private:
    void save();

    MainWindow& m_window;
    ModelController& m_model;
    ChatSession& m_session;
    QString m_file, m_prompt;
};

}  // namespace tokenscope::ui
