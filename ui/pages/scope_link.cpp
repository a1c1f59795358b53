#include "ui/pages/scope_link.h"

#include "ui/charts/scope_view.h"
#include "ui/widgets/transcript_view.h"

#include <vector>

namespace tokenscope::ui {

ScopeLink::ScopeLink(ScopeView& scope, TranscriptView& transcript, ChatSession& session, EngineBridge& bridge,
                     QObject* parent)
    : QObject(parent), m_scope(scope), m_transcript(transcript), m_session(session)
{
    scope.setTokenText([this](int token) { return tokenText(token); });
    connect(&session, &ChatSession::answeringChanged, this, [this](bool answering) {
        const std::optional<RequestId> request = m_session.service().activeRequest();
        if (!answering || !request)
            return;
        m_message = m_session.service().answering().value_or(0);
        m_scope.model().begin(*request);
        m_scope.modelChanged();
    });
    connect(&bridge, &EngineBridge::events, this, [this](const std::vector<Event>& batch) {
        for (const Event& event : batch)
            m_scope.model().apply(event);
        m_scope.modelChanged();
    });
    connect(&session, &ChatSession::transcriptFilled, this, [this] {
        if (!m_session.answering())
            showLastAnswer();
    });
    connect(&scope, &ScopeView::tokenHovered, this,
            [this](int token) { m_transcript.highlightToken(m_message, token); });
    connect(&transcript, &TranscriptView::tokenHovered, this, [this](qint64 message, int token) {
        // An earlier answer comes into the scope when the reader points at it; not while another is being written.
        if (token >= 0 && message != m_message && !m_session.answering())
            showAnswer(message);
        m_scope.markToken(message == m_message ? token : -1);
    });
    showLastAnswer();
}

void ScopeLink::showLastAnswer()
{
    const std::vector<MessageId> path = m_session.service().visiblePath();
    for (auto id = path.rbegin(); id != path.rend(); ++id)
        if (const ChatNode* node = m_session.service().node(*id); node && node->trace) {
            showAnswer(*id);
            return;
        }
    m_message = 0;
    m_scope.model().clear();
    m_scope.modelChanged();
}

void ScopeLink::showAnswer(MessageId id)
{
    std::vector<const RequestTrace*> earlier;
    const RequestTrace* shown = nullptr;
    for (const MessageId each : m_session.service().visiblePath()) {
        const ChatNode* node = m_session.service().node(each);
        if (!node || !node->trace)
            continue;
        if (each == id) {
            shown = &*node->trace;
            break;
        }
        earlier.insert(earlier.begin(), &*node->trace);
    }
    if (!shown)
        return;
    m_message = id;
    m_scope.model().show(*shown, earlier);
    m_scope.modelChanged();
}

QString ScopeLink::tokenText(int token) const
{
    const ChatNode* node = m_message ? m_session.service().node(m_message) : nullptr;
    if (!node || !node->trace || token < 0 || token >= static_cast<int>(node->trace->tokens.size()))
        return {};
    const TokenStamp& stamp = node->trace->tokens[static_cast<std::size_t>(token)];
    const std::string& text = node->row.text;
    if (stamp.textBegin >= stamp.textEnd || stamp.textEnd > text.size())
        return {};
    return QString::fromUtf8(text.data() + stamp.textBegin, static_cast<qsizetype>(stamp.textEnd - stamp.textBegin));
}

}  // namespace tokenscope::ui
