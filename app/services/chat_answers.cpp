// Answers: how they are asked for, written while events come, and saved.
#include "app/services/chat_prompt.h"
#include "app/services/chat_service_private.h"
#include "app/services/run_documents.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

namespace tokenscope {
namespace {

constexpr Nanoseconds kAutosaveNs = 1'000'000'000;  // a streaming answer at most once a second, never once a token
constexpr std::size_t kKeptTraces = 64;             // of older answers; 500 tokens take about 70 kB

void shiftText(TokenStamp& stamp, std::size_t bytes)
{
    stamp.textBegin += static_cast<std::uint32_t>(bytes);
    stamp.textEnd += static_cast<std::uint32_t>(bytes);
}

// Where the text of a run begins in its message: a continued answer is longer than what its last run wrote.
std::size_t textOffset(const std::string& message, const RunRow& run)
{
    if (run.outputText && message.ends_with(*run.outputText))
        return message.size() - run.outputText->size();
    return 0;
}

std::optional<double> numberIn(const nlohmann::json& document, const char* key)
{
    const auto found = document.is_object() ? document.find(key) : document.end();
    return found != document.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

}  // namespace

ChatService::Private::~Private()
{
    if (!active)
        return;
    engine.cancel(active->request);
    if (ConversationTree* conversation = tree(active->conversation)) {
        if (ChatNode* node = conversation->find(active->message)) {
            node->row.state = MessageState::Stopped;
            storage.saveMessage(node->row);
        }
    }
}

ConversationTree* ChatService::Private::tree(ConversationId id)
{
    if (const auto found = trees.find(id); found != trees.end())
        return &found->second;
    const auto rows = storage.conversations();
    if (!rows)
        return nullptr;
    const auto row = std::find_if(rows->begin(), rows->end(), [id](const auto& other) { return other.id == id; });
    auto messages = storage.messages(id);
    if (row == rows->end() || !messages)
        return nullptr;
    return &trees.emplace(id, ConversationTree(*row, std::move(*messages))).first->second;
}

void ChatService::Private::saveRow(ConversationTree& conversation)
{
    storage.saveConversation(conversation.row);
}

Result<ConversationTree*> ChatService::Private::treeToAnswerIn()
{
    if (active)
        return fail(ErrorCode::Busy, "an answer is being written; stop it first");
    if (!model)
        return fail(ErrorCode::Busy, "no model is loaded; open one first");
    ConversationTree* conversation = currentTree();
    if (!conversation)
        return fail(ErrorCode::BadInput, "no conversation is open");
    return conversation;
}

ChatNode& ChatService::Private::addQuestion(ConversationTree& conversation, std::optional<MessageId> parent,
                                            std::string text)
{
    if (conversation.row.title.empty())
        conversation.row.title = titleFrom(text);
    ChatNode& question = conversation.add({.id = drawId(),
                                           .conversation = conversation.row.id,
                                           .parent = parent,
                                           .role = "user",
                                           .text = std::move(text),
                                           .createdMs = clock.wallMs()});
    saveRow(conversation);
    storage.saveMessage(question.row);
    return question;
}

Result<MessageId> ChatService::Private::startAnswer(ConversationTree& conversation, std::optional<MessageId> parent)
{
    ChatNode& answer = conversation.add({.id = drawId(),
                                         .conversation = conversation.row.id,
                                         .parent = parent,
                                         .role = "assistant",
                                         .modelName = model->model.name,
                                         .createdMs = clock.wallMs()});
    submit(conversation, answer);
    return answer.row.id;
}

void ChatService::Private::submit(ConversationTree& conversation, ChatNode& answer)
{
    const auto text = engine.modelText();
    std::vector<const MessageRow*> branch;
    for (MessageId id : conversation.path()) {
        if (id == answer.row.id && answer.row.text.empty())
            break;
        branch.push_back(&conversation.find(id)->row);
        if (id == answer.row.id)
            break;
    }
    RequestSpec spec;
    // A template that cannot be used is the engine's to refuse; only a model without any is given plain text.
    const bool hasTemplate = text && (text->chatTemplate || !text->templateError.empty());
    spec.prompt = promptFor(conversation.row.systemPrompt, branch, hasTemplate);
    spec.sampling = settings.sampling;

    answer.row.state = MessageState::Streaming;
    answer.row.errorText.clear();
    answer.row.modelName = model->model.name;
    answer.trace = RequestTrace{};
    answer.metrics.reset();
    answer.notices.clear();
    answer.loadMs = model->loadMs;
    conversation.row.updatedMs = clock.wallMs();
    saveRow(conversation);
    storage.saveMessage(answer.row);

    active = Answer{.message = answer.row.id,
                    .conversation = conversation.row.id,
                    .textBefore = answer.row.text,
                    .startedMs = clock.wallMs(),
                    .savedNs = clock.now(),
                    .settings = settings,
                    .model = *model};
    active->request = engine.submit(std::move(spec));
    listChanged();
    pathChanged();
}

ConversationId ChatService::Private::adopt(ConversationFile file)
{
    const ConversationId id = file.row.id;
    if (file.row.title.empty()) {
        const auto first = std::find_if(file.messages.begin(), file.messages.end(),
                                        [](const MessageRow& message) { return message.role == "user"; });
        file.row.title = first == file.messages.end() ? "Imported" : titleFrom(first->text);
    }
    storage.saveTree(file.row, file.messages);
    trees.emplace(id, ConversationTree(std::move(file.row), std::move(file.messages)));
    listChanged();
    return id;
}

void ChatService::Private::restore(ChatNode& node)
{
    if (node.trace || !node.row.run || node.row.state == MessageState::Streaming)
        return;
    auto run = storage.run(*node.row.run);
    if (!run || !run->trace)
        return;
    if (!node.metrics) {
        // The ceilings of that day are not known any more, but what was computed with them is.
        node.metrics = computeMetrics(*run->trace, std::nullopt);
        const auto stored = nlohmann::json::parse(run->metricsJson, nullptr, false);
        node.metrics->mbu = numberIn(stored, "mbu");
        node.metrics->mfu = numberIn(stored, "mfu");
        node.loadMs = numberIn(stored, "load_ms").value_or(0.0);
    }
    const std::size_t offset = textOffset(node.row.text, *run);
    for (TokenStamp& token : run->trace->tokens)
        shiftText(token, offset);
    node.trace = std::move(run->trace);

    keepTrace(node.row.id);
}

void ChatService::Private::keepTrace(MessageId id)
{
    std::erase(keptTraces, id);
    keptTraces.push_back(id);
    if (keptTraces.size() <= kKeptTraces)
        return;
    for (auto& [conversationId, conversation] : trees) {
        ChatNode* oldest = conversation.find(keptTraces.front());
        if (oldest && oldest->row.run)
            oldest->trace.reset();
    }
    keptTraces.pop_front();
}

// --- events

ChatNode* ChatService::Private::answerNode(RequestId request)
{
    if (!active || active->request != request)
        return nullptr;
    ConversationTree* conversation = tree(active->conversation);
    return conversation ? conversation->find(active->message) : nullptr;
}

void ChatService::Private::onTokenised(const RequestTokenised& event)
{
    ChatNode* node = answerNode(event.request);
    if (!node)
        return;
    node->trace->promptTokens = event.promptTokens;
    node->trace->droppedBytes = event.droppedBytes;
    node->notices.insert(node->notices.end(), event.warnings.begin(), event.warnings.end());
    changed(node->row.id);
}

void ChatService::Private::onPrefill(const PrefillProgress& event)
{
    if (ChatNode* node = answerNode(event.request)) {
        node->trace->steps.push_back(event.step);
        changed(node->row.id);
    }
}

void ChatService::Private::onToken(const TokenCommitted& event)
{
    ChatNode* node = answerNode(event.request);
    if (!node)
        return;
    node->row.text += event.text;
    node->trace->tokens.push_back(event.stamp);
    shiftText(node->trace->tokens.back(), active->textBefore.size());
    node->trace->steps.push_back(event.step);
    if (clock.now() - active->savedNs >= kAutosaveNs) {
        active->savedNs = clock.now();
        storage.saveMessage(node->row);
    }
    changed(node->row.id);
}

void ChatService::Private::onFinished(const RequestFinished& event)
{
    ChatNode* node = answerNode(event.request);
    if (!node) {
        if (active && active->request == event.request)
            active.reset();  // its conversation is gone
        return;
    }
    const Answer answer = std::move(*active);
    active.reset();

    node->row.text = answer.textBefore + event.text;
    node->trace = event.trace;
    for (TokenStamp& token : node->trace->tokens)
        shiftText(token, answer.textBefore.size());
    node->metrics = computeMetrics(event.trace, ceilings);
    switch (event.trace.reason) {
    case StopReason::Error:
        node->row.state = MessageState::Failed;
        node->row.errorText = event.error ? event.error->message : "the engine gave no reason";
        break;
    case StopReason::Cancelled:
        node->row.state = MessageState::Stopped;
        break;
    default:
        node->row.state = MessageState::Complete;
    }
    storage.saveMessage(node->row);
    keepTrace(node->row.id);

    ConversationTree& conversation = *tree(answer.conversation);
    conversation.row.updatedMs = clock.wallMs();
    saveRow(conversation);

    // A request that never reached the model (too long, no model) measured nothing.
    const bool measured = event.trace.reason != StopReason::Error || !event.trace.tokens.empty();
    if (measured) {
        RunRow run = makeRunRow("chat", event, answer.model, answer.settings, *node->metrics, answer.startedMs);
        if (const ChatNode* question = node->row.parent ? conversation.find(*node->row.parent) : nullptr)
            run.promptText = question->row.text;
        const bool lacksHash = run.modelSha256.empty();
        savedRuns.push_back({.answer = storage.saveRun(std::move(run), node->row.id),
                             .message = node->row.id,
                             .conversation = answer.conversation,
                             .modelPath = answer.model.model.path,
                             .lacksHash = lacksHash,
                             .lacksCeilings = !ceilings});
    }
    changed(node->row.id);
    listChanged();
    if (observer)
        observer->answerFinished(node->row.id, std::nullopt);
}

}  // namespace tokenscope
