#include "ui/models/chat_session.h"

namespace tokenscope::ui {
namespace {

constexpr int kShowMs = 100;
constexpr int kPollMs = 100;
constexpr int kPolls = 50;  // five seconds: a run that takes longer to save is told at the next answer

MessageLook lookOf(MessageState state)
{
    switch (state) {
    case MessageState::Streaming:
        return MessageLook::Streaming;
    case MessageState::Stopped:
        return MessageLook::Stopped;
    case MessageState::Failed:
        return MessageLook::Failed;
    case MessageState::Complete:
        break;
    }
    return MessageLook::Complete;
}

}  // namespace

struct ChatSession::Watcher : ChatService::Observer {
    explicit Watcher(ChatSession& owner) : session(owner) {}

    void conversationsChanged() override
    {
        session.m_listChanged = true;
        session.m_flush.start();
    }
    void pathChanged() override
    {
        session.m_pathChanged = true;
        session.m_flush.start();
    }
    void messageChanged(MessageId id) override
    {
        session.m_changed.insert(id);
        if (!session.m_flush.isActive())
            session.m_flush.start();
    }
    void answerFinished(MessageId id, std::optional<RunId> run) override
    {
        session.m_changed.insert(id);
        session.m_pollsLeft = run ? 0 : kPolls;
        if (!run)
            session.m_poll.start();
        session.m_flush.start();
        session.m_unsaved = id;
        emit session.answerFinished(id);
    }

    ChatSession& session;
};

ChatSession::ChatSession(ChatService& service, EngineBridge& bridge, QObject* parent)
    : QObject(parent), m_service(service), m_bridge(bridge), m_watcher(std::make_unique<Watcher>(*this))
{
    m_flush.setSingleShot(true);
    m_flush.setInterval(0);
    connect(&m_flush, &QTimer::timeout, this, &ChatSession::flush);
    m_later.setSingleShot(true);
    connect(&m_later, &QTimer::timeout, this, &ChatSession::flush);
    m_poll.setInterval(kPollMs);
    connect(&m_poll, &QTimer::timeout, this, [this] {
        m_service.poll();
        if (--m_pollsLeft <= 0)
            m_poll.stop();
    });
    m_service.setObserver(m_watcher.get());
    connect(&bridge, &EngineBridge::events, this, [this](const std::vector<Event>& batch) {
        for (const Event& event : batch) {
            if (const auto* progress = std::get_if<PrefillProgress>(&event);
                progress && m_service.activeRequest() == progress->request) {
                m_prefillDone = progress->done;
                m_prefillTotal = progress->total;
                if (const std::optional<MessageId> id = m_service.answering())
                    m_changed.insert(*id);
            }
            m_service.apply(event);
        }
        m_service.poll();
        flush();
    });
    fillConversations();
    fillTranscript();
}

ChatSession::~ChatSession()
{
    m_service.setObserver(nullptr);
}

void ChatSession::setSearch(const QString& text)
{
    m_search = text;
    fillConversations();
}

void ChatSession::fillConversations()
{
    m_conversations.setRows(m_service.conversations(m_search.toStdString()));
    emit conversationListChanged();
}

void ChatSession::fillTranscript()
{
    std::vector<TranscriptItem> items;
    for (const MessageId id : m_service.visiblePath())
        if (m_service.node(id))
            items.push_back(itemOf(id));
    m_transcript.setItems(std::move(items));
    emit transcriptFilled();
    if (m_shown != m_service.currentConversation()) {
        m_shown = m_service.currentConversation();
        emit conversationOpened();
    }
}

TranscriptItem ChatSession::itemOf(MessageId id) const
{
    const ChatNode& node = *m_service.node(id);
    TranscriptItem item;
    item.id = id;
    item.fromUser = node.row.role == "user";
    item.text = QString::fromStdString(node.row.text);
    item.look = lookOf(node.row.state);
    item.errorText = QString::fromStdString(node.row.errorText);
    item.modelName = QString::fromStdString(node.row.modelName);
    item.metrics = node.metrics;
    for (const std::string& notice : node.notices)
        item.notices.append(QString::fromStdString(notice));
    if (node.trace) {
        item.tokens = TokenRanges(node.row.text, node.trace->tokens);
        if (item.look != MessageLook::Streaming)
            item.stopReason = node.trace->reason;
    }
    if (item.look == MessageLook::Streaming && item.text.isEmpty())
        item.statusText = m_prefillTotal > 0
                              ? tr("Reading the prompt: %1 of %2 tokens").arg(m_prefillDone).arg(m_prefillTotal)
                              : tr("Reading the prompt");
    const SiblingPosition position = m_service.siblings(id);
    item.siblingIndex = position.index;
    item.siblingCount = position.count;
    return item;
}

void ChatSession::flush()
{
    if (m_listChanged) {
        m_listChanged = false;
        fillConversations();
    }
    // While one answer is being written and nothing else happened, its text is copied and shown ten times a second.
    if (answering() && m_wasAnswering && !m_pathChanged && m_sinceShown.isValid() && m_sinceShown.elapsed() < kShowMs) {
        if (!m_changed.empty() && !m_later.isActive())
            m_later.start(static_cast<int>(kShowMs - m_sinceShown.elapsed()));
        return;
    }
    m_sinceShown.start();
    const std::set<MessageId> changed = std::exchange(m_changed, {});
    if (m_pathChanged) {
        m_pathChanged = false;
        fillTranscript();
    } else {
        for (const MessageId id : changed)
            if (m_service.node(id))
                m_transcript.updateItem(itemOf(id));
    }
    for (const MessageId id : changed)
        emit answerChanged(id);
    if (const ChatNode* node = m_unsaved ? m_service.node(*m_unsaved) : nullptr; node && node->row.run) {
        m_unsaved.reset();
        m_poll.stop();
        emit runSaved(*node->row.run);
    }
    if (m_wasAnswering != answering()) {
        m_wasAnswering = answering();
        emit answeringChanged(m_wasAnswering);
    }
}

bool ChatSession::started(const Result<MessageId>& answer)
{
    if (!answer) {
        emit refused(QString::fromStdString(answer.error().message));
        return false;
    }
    m_prefillDone = m_prefillTotal = 0;
    m_bridge.wake();
    flush();
    return true;
}

bool ChatSession::send(const QString& text)
{
    return started(m_service.send(text.toStdString()));
}

bool ChatSession::regenerate(MessageId answer)
{
    return started(m_service.regenerate(answer));
}

bool ChatSession::edit(MessageId userMessage, const QString& text)
{
    return started(m_service.edit(userMessage, text.toStdString()));
}

bool ChatSession::continueAnswer(MessageId answer)
{
    return started(m_service.continueAnswer(answer));
}

void ChatSession::stop()
{
    m_service.stop();
}

void ChatSession::newConversation()
{
    if (m_service.currentConversation() && m_service.visiblePath().empty())
        return;
    m_service.createConversation();
    m_pathChanged = m_listChanged = true;
    flush();
}

void ChatSession::openConversation(ConversationId id)
{
    if (m_service.currentConversation() == id)
        return;
    if (const Result<void> opened = m_service.openConversation(id); !opened) {
        emit refused(QString::fromStdString(opened.error().message));
        return;
    }
    m_pathChanged = true;
    flush();
}

void ChatSession::removeConversation(ConversationId id)
{
    m_service.removeConversation(id);
    m_listChanged = m_pathChanged = true;
    flush();
}

void ChatSession::restoreConversation(ConversationId id)
{
    m_service.restoreConversation(id);
    m_listChanged = true;
    flush();
}

}  // namespace tokenscope::ui
