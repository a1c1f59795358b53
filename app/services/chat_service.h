// Conversations as the window shows them: a tree of messages, the branch that is visible, and the answer being written.
// GUI thread only; Qt-free. Sends requests to the engine, takes its events from the bridge, saves through Storage.
#pragma once

#include "engine/base/result.h"
#include "engine/engine.h"
#include "engine/measure/metrics.h"
#include "storage/storage.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tokenscope {

struct ChatNode {
    MessageRow row;
    // Of answers in this session or read back from the run: what the scope and the hover cards need.
    std::optional<RequestTrace> trace;
    std::optional<RequestMetrics> metrics;
    std::vector<std::string> notices;  // "41 bytes the vocabulary lacks were dropped", template warnings
    double loadMs = 0.0;
};

struct SiblingPosition {
    int index = 0;  // 0-based
    int count = 1;
};

class ChatService {
public:
    // All must outlive the service.
    ChatService(EnginePort& engine, Storage& storage, const Clock& clock);

    // --- conversations
    std::vector<ConversationRow> conversations(std::string_view search = {}) const;  // newest first
    ConversationId createConversation();
    Result<void> openConversation(ConversationId id);
    void renameConversation(ConversationId id, std::string title);
    void removeConversation(ConversationId id);  // can be undone
    void restoreConversation(ConversationId id);
    std::optional<ConversationId> currentConversation() const;
    void setSystemPrompt(std::string text);  // of the current conversation
    std::string systemPrompt() const;

    // --- the visible branch of the current conversation, root first
    std::vector<MessageId> visiblePath() const;
    // Reads trace and metrics of an older answer back from its run when asked for; the traces of the 64 asked for last
    // are kept, the metrics of all. Null for an id that is not in the current conversation.
    const ChatNode* node(MessageId id) const;
    SiblingPosition siblings(MessageId id) const;
    void selectSibling(MessageId id, int index);

    // --- answers; BadInput/Busy with a sentence if it cannot start. One at a time.
    void setSettings(const Settings& settings);
    void setModel(std::optional<LoadedModelInfo> model);
    // Answers of this session that had to do without get their MBU and MFU now, stored runs too.
    void setCeilings(std::optional<MeasuredCeilings> ceilings);
    // Computed after the first answer (model_hash.h): runs of this session with that file are completed.
    void setModelHash(const std::string& modelPath, const std::string& sha256);
    Result<MessageId> send(std::string userText);  // gives the answer's id
    Result<MessageId> regenerate(MessageId answer);
    Result<MessageId> edit(MessageId userMessage, std::string newText);
    Result<MessageId> continueAnswer(MessageId answer);
    void stop();
    std::optional<MessageId> answering() const;
    std::optional<RequestId> activeRequest() const;

    // Called by the bridge for every event, in order.
    void apply(const Event& event);

    // --- what changed, for the models of the window; called on the GUI thread
    struct Observer {
        virtual ~Observer() = default;
        virtual void conversationsChanged() = 0;
        virtual void pathChanged() = 0;                 // other messages are visible now
        virtual void messageChanged(MessageId id) = 0;  // text, state or metrics
        // At once; without the run's number, which is drawn by the storage thread: messageChanged() follows when poll()
        // has it (row.run).
        virtual void answerFinished(MessageId id, std::optional<RunId> run) = 0;
    };
    void setObserver(Observer* observer);

    // --- files
    Result<std::string> exportMarkdown(ConversationId id) const;
    Result<std::string> exportJson(ConversationId id) const;  // the whole tree
    Result<ConversationId> importJson(std::string_view text);
    Result<ConversationId> importMarkdown(std::string_view text);

    // Polls futures of saved runs; called by the bridge's timer.
    void poll();

private:
    struct Private;
    std::shared_ptr<Private> d;
};

}  // namespace tokenscope
