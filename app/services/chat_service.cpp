#include "app/services/chat_service.h"

#include "app/services/chat_files.h"
#include "app/services/chat_prompt.h"
#include "app/services/conversation_tree.h"
#include "app/services/run_documents.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tokenscope {
namespace {

constexpr Nanoseconds kAutosaveNs = 1'000'000'000;  // a streaming answer at most once a second, never once a token
constexpr std::size_t kKeptTraces = 64;             // of older answers; 500 tokens take about 70 kB

std::string lowered(std::string_view text)
{
    std::string result(text);
    for (char& c : result) {
        if (c >= 'A' && c <= 'Z')
            c = static_cast<char>(c | 0x20);
    }
    return result;
}

// As the database searches, for rows that may not have reached it yet.
bool matches(const ConversationTree& tree, std::string_view search)
{
    const std::string wanted = lowered(search);
    std::size_t begin = 0;
    while ((begin = wanted.find_first_not_of(" \t\r\n", begin)) != std::string::npos) {
        const std::size_t end = std::min(wanted.find_first_of(" \t\r\n", begin), wanted.size());
        const std::string word = wanted.substr(begin, end - begin);
        begin = end;
        const auto messages = tree.messages();
        if (lowered(tree.row.title).find(word) == std::string::npos &&
            std::none_of(messages.begin(), messages.end(), [&](const MessageRow* message) {
                return lowered(message->text).find(word) != std::string::npos;
            }))
            return false;
    }
    return true;
}

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
    if (event.droppedBytes > 0)
        node->notices.push_back(
            fmt::format("{} bytes that the model's vocabulary lacks were dropped", event.droppedBytes));
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

// --- the service

ChatService::ChatService(EnginePort& engine, Storage& storage, const Clock& clock)
    : d(std::make_shared<Private>(engine, storage, clock))
{
}

std::vector<ConversationRow> ChatService::conversations(std::string_view search) const
{
    std::vector<ConversationRow> rows;
    std::vector<ConversationId> found;
    if (auto stored = d->storage.conversations(search)) {
        for (ConversationRow& row : *stored) {
            found.push_back(row.id);
            if (!d->trees.contains(row.id))
                rows.push_back(std::move(row));
        }
    }
    for (const auto& [id, tree] : d->trees) {
        if (std::find(found.begin(), found.end(), id) != found.end() || matches(tree, search))
            rows.push_back(tree.row);
    }
    std::erase_if(rows, [&](const ConversationRow& row) {
        return std::find(d->removed.begin(), d->removed.end(), row.id) != d->removed.end();
    });
    std::sort(rows.begin(), rows.end(), [](const ConversationRow& a, const ConversationRow& b) {
        return a.updatedMs != b.updatedMs ? a.updatedMs > b.updatedMs : a.id > b.id;
    });
    return rows;
}

ConversationId ChatService::createConversation()
{
    // Not saved before there is something in it; an empty one that is open already is as good as a new one.
    if (const ConversationTree* open = d->currentTree();
        open && open->isEmpty() && open->row.title.empty() && open->row.systemPrompt.empty())
        return open->row.id;
    const std::int64_t now = d->clock.wallMs();
    ConversationRow row{.id = drawId(), .createdMs = now, .updatedMs = now};
    const ConversationId id = row.id;
    d->trees.emplace(id, ConversationTree(std::move(row), {}));
    d->current = id;
    d->listChanged();
    d->pathChanged();
    return id;
}

Result<void> ChatService::openConversation(ConversationId id)
{
    if (!d->tree(id)) {
        if (d->storage.state() != Storage::State::Ready)
            return tl::unexpected(d->storage.error());
        return fail(ErrorCode::BadInput, fmt::format("conversation {} is not in the database any more", id));
    }
    d->current = id;
    d->pathChanged();
    return {};
}

void ChatService::renameConversation(ConversationId id, std::string title)
{
    if (ConversationTree* tree = d->tree(id)) {
        tree->row.title = std::move(title);
        d->saveRow(*tree);
        d->listChanged();
    }
}

void ChatService::removeConversation(ConversationId id)
{
    if (d->active && d->active->conversation == id)
        stop();
    d->removed.push_back(id);
    d->storage.removeConversation(id);
    if (d->current == id) {
        d->current.reset();
        d->pathChanged();
    }
    d->listChanged();
}

void ChatService::restoreConversation(ConversationId id)
{
    std::erase(d->removed, id);
    d->storage.restoreConversation(id);
    d->listChanged();
}

std::optional<ConversationId> ChatService::currentConversation() const
{
    return d->current;
}

void ChatService::setSystemPrompt(std::string text)
{
    ConversationTree* tree = d->currentTree();
    if (!tree || tree->row.systemPrompt == text)
        return;
    tree->row.systemPrompt = std::move(text);
    d->saveRow(*tree);
}

std::string ChatService::systemPrompt() const
{
    const ConversationTree* tree = d->currentTree();
    return tree ? tree->row.systemPrompt : std::string();
}

std::vector<MessageId> ChatService::visiblePath() const
{
    const ConversationTree* tree = d->currentTree();
    return tree ? tree->path() : std::vector<MessageId>();
}

const ChatNode* ChatService::node(MessageId id) const
{
    ConversationTree* tree = d->currentTree();
    ChatNode* node = tree ? tree->find(id) : nullptr;
    if (node)
        d->restore(*node);
    return node;
}

SiblingPosition ChatService::siblings(MessageId id) const
{
    const ConversationTree* tree = d->currentTree();
    return tree ? tree->siblings(id) : SiblingPosition{};
}

void ChatService::selectSibling(MessageId id, int index)
{
    ConversationTree* tree = d->currentTree();
    if (tree && tree->selectSibling(id, index)) {
        d->saveRow(*tree);
        d->pathChanged();
    }
}

void ChatService::setSettings(const Settings& settings)
{
    d->settings = settings;
}

void ChatService::setModel(std::optional<LoadedModelInfo> model)
{
    d->model = std::move(model);
}

void ChatService::setCeilings(std::optional<MeasuredCeilings> ceilings)
{
    poll();
    d->ceilings = ceilings;
    if (!ceilings)
        return;
    for (Private::SavedRun& saved : d->savedRuns) {
        ConversationTree* tree = d->tree(saved.conversation);
        ChatNode* node = tree ? tree->find(saved.message) : nullptr;
        if (!saved.lacksCeilings || !node || !node->trace)
            continue;
        saved.lacksCeilings = false;
        node->metrics = computeMetrics(*node->trace, ceilings);
        d->changed(saved.message);
        if (saved.id)
            d->storage.setRunMetrics(*saved.id, metricsDocument(*node->metrics, node->loadMs).dump());
    }
}

void ChatService::setModelHash(const std::string& modelPath, const std::string& sha256)
{
    poll();
    if (d->model && d->model->model.path == modelPath)
        d->model->model.sha256 = sha256;
    for (Private::SavedRun& saved : d->savedRuns) {
        if (!saved.lacksHash || saved.modelPath != modelPath || !saved.id)
            continue;
        saved.lacksHash = false;
        d->storage.setRunHash(*saved.id, sha256);
    }
}

Result<MessageId> ChatService::send(std::string userText)
{
    if (userText.find_first_not_of(" \t\r\n") == std::string::npos)
        return fail(ErrorCode::BadInput, "the message is empty");
    if (!d->currentTree() && !d->active && d->model)
        createConversation();
    const auto tree = d->treeToAnswerIn();
    if (!tree)
        return tl::unexpected(tree.error());
    const MessageId question = d->addQuestion(**tree, (*tree)->leaf(), std::move(userText)).row.id;
    return d->startAnswer(**tree, question);
}

Result<MessageId> ChatService::regenerate(MessageId answer)
{
    const auto tree = d->treeToAnswerIn();
    if (!tree)
        return tl::unexpected(tree.error());
    const ChatNode* node = (*tree)->find(answer);
    if (!node || node->row.role != "assistant")
        return fail(ErrorCode::BadInput, "only an answer can be generated again");
    return d->startAnswer(**tree, node->row.parent);
}

Result<MessageId> ChatService::edit(MessageId userMessage, std::string newText)
{
    if (newText.find_first_not_of(" \t\r\n") == std::string::npos)
        return fail(ErrorCode::BadInput, "the message is empty");
    const auto tree = d->treeToAnswerIn();
    if (!tree)
        return tl::unexpected(tree.error());
    const ChatNode* node = (*tree)->find(userMessage);
    if (!node || node->row.role != "user")
        return fail(ErrorCode::BadInput, "only a message of yours can be edited");
    const MessageId question = d->addQuestion(**tree, node->row.parent, std::move(newText)).row.id;
    return d->startAnswer(**tree, question);
}

Result<MessageId> ChatService::continueAnswer(MessageId answer)
{
    const auto tree = d->treeToAnswerIn();
    if (!tree)
        return tl::unexpected(tree.error());
    ChatNode* node = (*tree)->find(answer);
    if (!node || node->row.role != "assistant" || (*tree)->hasChildren(answer))
        return fail(ErrorCode::BadInput, "only the last answer of a conversation can be continued");
    (*tree)->show(answer);
    d->submit(**tree, *node);
    return answer;
}

void ChatService::stop()
{
    if (d->active)
        d->engine.cancel(d->active->request);
}

std::optional<MessageId> ChatService::answering() const
{
    return d->active ? std::optional(d->active->message) : std::nullopt;
}

std::optional<RequestId> ChatService::activeRequest() const
{
    return d->active ? std::optional(d->active->request) : std::nullopt;
}

void ChatService::apply(const Event& event)
{
    if (const auto* tokenised = std::get_if<RequestTokenised>(&event))
        d->onTokenised(*tokenised);
    else if (const auto* prefill = std::get_if<PrefillProgress>(&event))
        d->onPrefill(*prefill);
    else if (const auto* token = std::get_if<TokenCommitted>(&event))
        d->onToken(*token);
    else if (const auto* finished = std::get_if<RequestFinished>(&event))
        d->onFinished(*finished);
}

void ChatService::setObserver(Observer* observer)
{
    d->observer = observer;
}

Result<std::string> ChatService::exportMarkdown(ConversationId id) const
{
    const ConversationTree* tree = d->tree(id);
    if (!tree)
        return fail(ErrorCode::BadInput, fmt::format("conversation {} is not in the database any more", id));
    std::vector<const MessageRow*> branch;
    for (MessageId message : tree->path())
        branch.push_back(&tree->find(message)->row);
    return conversationToMarkdown(tree->row, branch);
}

Result<std::string> ChatService::exportJson(ConversationId id) const
{
    const ConversationTree* tree = d->tree(id);
    if (!tree)
        return fail(ErrorCode::BadInput, fmt::format("conversation {} is not in the database any more", id));
    return conversationToJson(tree->row, tree->messages());
}

Result<ConversationId> ChatService::importJson(std::string_view text)
{
    auto file = conversationFromJson(text, d->clock.wallMs());
    if (!file)
        return tl::unexpected(file.error());
    return d->adopt(std::move(*file));
}

Result<ConversationId> ChatService::importMarkdown(std::string_view text)
{
    auto file = conversationFromMarkdown(text, d->clock.wallMs());
    if (!file)
        return tl::unexpected(file.error());
    return d->adopt(std::move(*file));
}

void ChatService::poll()
{
    for (Private::SavedRun& saved : d->savedRuns) {
        if (!saved.answer.valid() || saved.answer.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
            continue;
        const auto id = saved.answer.get();
        if (!id)
            continue;
        saved.id = *id;
        ConversationTree* tree = d->tree(saved.conversation);
        if (ChatNode* node = tree ? tree->find(saved.message) : nullptr) {
            node->row.run = *id;  // in the database it was linked together with the run
            d->changed(saved.message);
        }
    }
}

}  // namespace tokenscope
