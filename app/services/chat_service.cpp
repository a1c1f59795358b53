#include "app/services/chat_service.h"

#include "app/services/chat_service_private.h"
#include "app/services/run_documents.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tokenscope {
namespace {

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

}  // namespace

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
        return fail(ErrorCode::BadInput, "conversation {} is not in the database any more", id);
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
        return fail(ErrorCode::BadInput, "conversation {} is not in the database any more", id);
    std::vector<const MessageRow*> branch;
    for (MessageId message : tree->path())
        branch.push_back(&tree->find(message)->row);
    return conversationToMarkdown(tree->row, branch);
}

Result<std::string> ChatService::exportJson(ConversationId id) const
{
    const ConversationTree* tree = d->tree(id);
    if (!tree)
        return fail(ErrorCode::BadInput, "conversation {} is not in the database any more", id);
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
