// The inside of ChatService: the answer being written, the trees of this session, the runs being saved. Included by the
// two files that implement it and by nobody else.
#pragma once

#include "app/services/chat_files.h"
#include "app/services/chat_service.h"
#include "app/services/conversation_tree.h"

#include <deque>
#include <future>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tokenscope {

struct ChatService::Private {
    struct Answer {
        MessageId message = 0;
        ConversationId conversation = 0;
        RequestId request = 0;
        std::string textBefore;  // of an answer that is continued
        std::int64_t startedMs = 0;
        Nanoseconds savedNs = 0;
        Settings settings;
        LoadedModelInfo model;
    };
    struct SavedRun {
        std::future<Result<RunId>> answer;  // of the storage thread
        std::optional<RunId> id;            // once it came
        MessageId message = 0;
        ConversationId conversation = 0;
        std::string modelPath;
        bool lacksHash = false;
        bool lacksCeilings = false;
    };

    Private(EnginePort& enginePort, Storage& store, const Clock& time) : engine(enginePort), storage(store), clock(time)
    {
    }
    ~Private();

    ConversationTree* tree(ConversationId id);
    ConversationTree* currentTree() { return current ? tree(*current) : nullptr; }
    Result<ConversationTree*> treeToAnswerIn();
    Result<MessageId> startAnswer(ConversationTree& tree, std::optional<MessageId> parent);
    void submit(ConversationTree& tree, ChatNode& answer);
    ChatNode& addQuestion(ConversationTree& tree, std::optional<MessageId> parent, std::string text);
    void saveRow(ConversationTree& tree);
    ConversationId adopt(ConversationFile file);
    void restore(ChatNode& node);
    void keepTrace(MessageId id);

    void onTokenised(const RequestTokenised& event);
    void onPrefill(const PrefillProgress& event);
    void onToken(const TokenCommitted& event);
    void onFinished(const RequestFinished& event);
    ChatNode* answerNode(RequestId request);

    void changed(MessageId id)
    {
        if (observer)
            observer->messageChanged(id);
    }
    void pathChanged()
    {
        if (observer)
            observer->pathChanged();
    }
    void listChanged()
    {
        if (observer)
            observer->conversationsChanged();
    }

    EnginePort& engine;
    Storage& storage;
    const Clock& clock;
    Observer* observer = nullptr;

    // Every conversation opened or changed in this session: here they are up to date, in the database a moment later.
    std::map<ConversationId, ConversationTree> trees;
    std::vector<ConversationId> removed;
    std::optional<ConversationId> current;

    Settings settings;
    std::optional<LoadedModelInfo> model;
    std::optional<MeasuredCeilings> ceilings;
    std::optional<Answer> active;
    std::vector<SavedRun> savedRuns;   // of this session
    std::deque<MessageId> keptTraces;  // oldest first
};

}  // namespace tokenscope
