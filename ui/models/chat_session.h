// ChatService for the window: passes it the engine's events, turns what it observes into signals (at most one a drained
// batch) and keeps the two models up to date. GUI thread.
#pragma once

#include "app/bridge/engine_bridge.h"
#include "app/services/chat_service.h"
#include "ui/models/conversation_model.h"
#include "ui/models/transcript_model.h"

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>

#include <memory>
#include <optional>
#include <set>

namespace tokenscope::ui {

class ChatSession : public QObject {
    Q_OBJECT

public:
    ChatSession(ChatService& service, EngineBridge& bridge, QObject* parent = nullptr);
    ~ChatSession() override;

    ChatService& service() { return m_service; }
    ConversationModel& conversationModel() { return m_conversations; }
    TranscriptModel& transcriptModel() { return m_transcript; }

    bool answering() const { return m_service.answering().has_value(); }
    void setSearch(const QString& text);

    // What the service offers, with the bridge woken; where it refuses, the sentence comes by `refused`.
    bool send(const QString& text);
    bool regenerate(MessageId answer);
    bool edit(MessageId userMessage, const QString& text);
    bool continueAnswer(MessageId answer);
    void stop();

    // An empty conversation that is already there is used again.
    void newConversation();
    void openConversation(ConversationId id);
    void removeConversation(ConversationId id);
    void restoreConversation(ConversationId id);

signals:
    void conversationListChanged();
    void conversationOpened();
    void transcriptFilled();  // another conversation or branch, or messages were added
    void answeringChanged(bool answering);
    void answerChanged(tokenscope::MessageId id);  // at most once a batch while it is written
    void answerFinished(tokenscope::MessageId id);
    void runSaved(tokenscope::RunId run);  // of the answer finished last; a moment later
    void refused(const QString& sentence);

private:
    struct Watcher;

    void flush();
    void fillConversations();
    void fillTranscript();
    TranscriptItem itemOf(MessageId id) const;
    bool started(const Result<MessageId>& answer);

    ChatService& m_service;
    EngineBridge& m_bridge;
    ConversationModel m_conversations;
    TranscriptModel m_transcript;
    std::unique_ptr<Watcher> m_watcher;
    QTimer m_flush;  // changes outside a batch are shown in the next turn of the event loop
    QTimer m_later;  // an answer being written is shown at 10 Hz: text, parse and paint cost 10 ms each time
    QElapsedTimer m_sinceShown;
    QTimer m_poll;  // until the run of the last answer has its number
    QString m_search;
    std::optional<ConversationId> m_shown;
    std::set<MessageId> m_changed;
    bool m_listChanged = false;
    bool m_pathChanged = false;
    bool m_wasAnswering = false;
    int m_prefillDone = 0;  // of the answer under way
    int m_prefillTotal = 0;
    std::optional<MessageId> m_unsaved;  // finished, its run has no number yet
    int m_pollsLeft = 0;
};

}  // namespace tokenscope::ui
