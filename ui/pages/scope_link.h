// Joins the scope to the chat: events of the answer being written go in as they come; another conversation or branch
// shows its last answer; a token under the mouse is marked on the other side.
#pragma once

#include "ui/models/chat_session.h"

#include <QObject>

namespace tokenscope::ui {

class ScopeView;
class TranscriptView;

class ScopeLink : public QObject {
    Q_OBJECT

public:
    ScopeLink(ScopeView& scope, TranscriptView& transcript, ChatSession& session, EngineBridge& bridge,
              QObject* parent = nullptr);

    MessageId shownMessage() const { return m_message; }

private:
    void showLastAnswer();
    void showAnswer(MessageId id);
    QString tokenText(int token) const;

    ScopeView& m_scope;
    TranscriptView& m_transcript;
    ChatSession& m_session;
    MessageId m_message = 0;  // whose tokens the scope shows; 0: none
};

}  // namespace tokenscope::ui
