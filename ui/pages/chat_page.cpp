#include "ui/pages/chat_page.h"

#include "ui/theme/fonts.h"
#include "ui/widgets/composer.h"
#include "ui/widgets/conversation_pane.h"
#include "ui/widgets/find_bar.h"
#include "ui/widgets/notice_bar.h"
#include "ui/widgets/scope_tabs.h"
#include "ui/widgets/search_field.h"
#include "ui/widgets/transcript_empty.h"
#include "ui/widgets/transcript_view.h"

#include <QApplication>
#include <QFontMetricsF>
#include <QScrollArea>
#include <QSplitter>
#include <QStackedLayout>
#include <QStandardPaths>
#include <QVBoxLayout>

#include <algorithm>

namespace tokenscope::ui {
namespace {

constexpr int kPaneWidth = 196;
constexpr int kScopeWidth = 412;
constexpr int kSmallestScope = 330;
constexpr int kSmallestScopeHeight = 600;
constexpr int kSmallestMiddle = 420;  // below it lines break too often: the scope becomes a tab
constexpr int kUndoMs = 30'000;

// Keeps what is in it as wide as the text above it, and in the middle.
class Centred : public QWidget {
public:
    Centred(QWidget* inner, QWidget* parent) : QWidget(parent), m_inner(inner)
    {
        auto* row = new QHBoxLayout(this);
        row->setContentsMargins(0, 0, 0, 0);
        row->addStretch(1);
        row->addWidget(inner, 1000);
        row->addStretch(1);
    }

protected:
    void resizeEvent(QResizeEvent* event) override
    {
        m_inner->setMaximumWidth(qRound(QFontMetricsF(roleFont(FontRole::Body)).averageCharWidth() * 90));
        QWidget::resizeEvent(event);
    }

private:
    QWidget* m_inner;
};

QVBoxLayout* plainColumn(QWidget* widget)
{
    auto* column = new QVBoxLayout(widget);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    return column;
}

}  // namespace

ChatPage::ChatPage(ChatSession& session, ModelController& model, QWidget* parent)
    : QWidget(parent), m_session(session), m_model(model),
      m_fileFolder(QStandardPaths::writableLocation(QStandardPaths::DocumentsLocation))
{
    m_splitter = new QSplitter(Qt::Horizontal, this);
    m_splitter->setChildrenCollapsible(false);
    m_splitter->setHandleWidth(1);
    plainColumn(this)->addWidget(m_splitter);

    m_pane = new ConversationPane(session.conversationModel(), m_splitter);
    m_middle = new QWidget(m_splitter);
    QVBoxLayout* middle = plainColumn(m_middle);
    m_tabs = new ScopeTabs(m_middle);
    m_tabs->hide();
    middle->addWidget(m_tabs);
    m_stack = new QStackedLayout;
    middle->addLayout(m_stack, 1);

    auto* chatWidget = new QWidget(m_middle);
    QVBoxLayout* chat = plainColumn(chatWidget);
    m_transcript = new TranscriptView(chatWidget);
    m_transcript->setTranscript(&session.transcriptModel());
    m_find = new FindBar(*m_transcript, chatWidget);
    chat->addWidget(m_find);
    chat->addWidget(m_transcript, 1);
    auto* foot = new QWidget(chatWidget);
    auto* footColumn = new QVBoxLayout(foot);
    footColumn->setContentsMargins(26, 6, 26, 14);
    footColumn->setSpacing(8);
    m_notice = new NoticeBar(foot);
    m_composer = new Composer(foot);
    footColumn->addWidget(m_notice);
    footColumn->addWidget(new Centred(m_composer, foot));
    chat->addWidget(foot);
    m_stack->addWidget(chatWidget);
    auto* empty = new TranscriptEmpty(*m_transcript);
    connect(empty, &TranscriptEmpty::promptChosen, this, [this](const QString& text) {
        m_composer->setDraft(text);
        m_composer->setFocus();
    });

    m_scopeColumn = new QWidget(m_splitter);
    m_scopeColumn->setMinimumWidth(kSmallestScope);
    plainColumn(m_scopeColumn);
    m_scopeColumn->hide();
    // Growing windows give their room to text and charts alike; the list keeps its width.
    m_splitter->setStretchFactor(0, 0);
    m_splitter->setStretchFactor(1, 1);
    m_splitter->setStretchFactor(2, 1);
    m_splitter->setSizes({kPaneWidth, 2 * kSmallestMiddle, kScopeWidth});

    connectParts();
    conversationOpened();
}

void ChatPage::connectParts()
{
    connect(m_tabs, &ScopeTabs::chosen, this, [this](int tab) { m_stack->setCurrentIndex(tab); });
    connect(m_pane, &ConversationPane::newRequested, this, &ChatPage::newChat);
    connect(m_pane, &ConversationPane::opened, this, [this](ConversationId id) {
        m_session.openConversation(id);
        showScopeTab(false);
        m_composer->setFocus();
    });
    connect(m_pane, &ConversationPane::searchChanged, &m_session, &ChatSession::setSearch);
    connect(m_pane, &ConversationPane::removeRequested, this, &ChatPage::remove);
    connect(m_pane, &ConversationPane::menuRequested, this, &ChatPage::chatMenu);
    connect(&m_session.conversationModel(), &ConversationModel::renamed, this,
            [this](ConversationId id, const QString& title) {
                m_session.service().renameConversation(id, title.toStdString());
            });

    connect(m_composer, &Composer::sendRequested, this, &ChatPage::send);
    connect(m_composer, &Composer::stopRequested, &m_session, &ChatSession::stop);
    connect(m_composer, &Composer::editLastRequested, this, &ChatPage::editLast);
    connect(m_composer, &Composer::systemPromptRequested, this, &ChatPage::editSystemPrompt);
    connect(m_composer, &Composer::filesGiven, this, &ChatPage::filesGiven);
    connect(m_composer, &Composer::problem, this,
            [this](const QString& text) { m_notice->show(NoticeBar::Kind::Warning, text); });
    connect(m_transcript, &TranscriptView::actionRequested, this, &ChatPage::act);
    connect(m_transcript, &TranscriptView::menuRequested, this, &ChatPage::messageMenu);
    connect(m_transcript, &TranscriptView::linkActivated, this, &ChatPage::openLink);

    connect(&m_session, &ChatSession::conversationOpened, this, &ChatPage::conversationOpened);
    connect(&m_session, &ChatSession::conversationListChanged, this, [this] {
        m_pane->setCurrent(m_session.service().currentConversation());
        emit listChanged();
    });
    connect(&m_session, &ChatSession::answeringChanged, this, [this] { showState(); });
    connect(&m_session, &ChatSession::refused, this,
            [this](const QString& sentence) { m_notice->show(NoticeBar::Kind::Error, sentence); });
    connect(&m_model, &ModelController::changed, this, &ChatPage::showState);
}

void ChatPage::setScope(QWidget* scope)
{
    // Charts are not squeezed: a low window scrolls them.
    auto* area = new QScrollArea(this);
    area->setFrameShape(QFrame::NoFrame);
    area->setFocusPolicy(Qt::NoFocus);
    area->setWidgetResizable(true);
    area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    area->viewport()->setBackgroundRole(QPalette::Window);
    scope->setMinimumHeight(scaled(kSmallestScopeHeight));
    area->setWidget(scope);
    m_scope = area;
    m_scopeColumn->layout()->addWidget(area);
    m_scopeColumn->show();
    placeScope();
}

void ChatPage::placeScope()
{
    const bool tab = width() < scaled(kPaneWidth + kSmallestMiddle + kScopeWidth);
    if (!m_scope || tab == m_scopeIsTab)
        return;
    m_scopeIsTab = tab;
    if (tab) {
        m_scopeColumn->layout()->removeWidget(m_scope);
        m_stack->addWidget(m_scope);
        m_scopeColumn->hide();
        m_tabs->show();
        m_stack->setCurrentIndex(m_tabs->current());
        return;
    }
    m_stack->removeWidget(m_scope);
    m_scopeColumn->layout()->addWidget(m_scope);
    m_scope->show();
    m_scopeColumn->show();
    m_tabs->hide();
    m_stack->setCurrentIndex(0);
    m_splitter->setSizes({kPaneWidth, std::max(kSmallestMiddle, width() - kPaneWidth - kScopeWidth - 2), kScopeWidth});
}

void ChatPage::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    placeScope();
}

void ChatPage::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() != QEvent::FontChange || !m_scope)
        return;
    m_scope->widget()->setMinimumHeight(scaled(kSmallestScopeHeight));
    placeScope();
}

QByteArray ChatPage::saveLayout() const
{
    return m_scopeIsTab ? QByteArray() : m_splitter->saveState();
}

void ChatPage::restoreLayout(const QByteArray& state)
{
    if (!state.isEmpty() && !m_scopeIsTab)
        m_splitter->restoreState(state);
}

void ChatPage::showScopeTab(bool scope)
{
    if (m_scopeIsTab)
        m_tabs->setCurrent(scope ? 1 : 0);
}

void ChatPage::focusNextPart()
{
    const QWidget* focused = QApplication::focusWidget();
    const auto within = [focused](const QWidget* part) {
        return part && focused && (focused == part || part->isAncestorOf(focused));
    };
    if (within(m_pane)) {
        showScopeTab(false);
        m_transcript->setFocus(Qt::TabFocusReason);
    } else if (within(m_transcript)) {
        m_composer->edit()->setFocus(Qt::TabFocusReason);
    } else if (within(m_composer) && m_scope) {
        showScopeTab(true);
        QWidget* next = m_scope;
        do
            next = next->nextInFocusChain();
        while (next != m_scope &&
               !(m_scope->isAncestorOf(next) && next->focusPolicy() & Qt::TabFocus && next->isVisible()));
        next->setFocus(Qt::TabFocusReason);
    } else {
        m_pane->list()->setFocus(Qt::TabFocusReason);
    }
}

void ChatPage::showState()
{
    m_composer->setAnswering(m_session.answering());
    QString blocked;
    if (m_model.loading())
        blocked = tr("The model is loading; you can write meanwhile");
    else if (!m_model.loaded())
        blocked = tr("No model is loaded: open one (Ctrl+O) to get an answer");
    m_composer->setBlocked(blocked);
    if (m_model.loaded() && !m_model.loading()) {
        const bool raw = !m_model.loaded()->model.hasChatTemplate;
        m_composer->setPlaceholder(raw ? tr("Text for %1 to go on with").arg(m_model.displayName())
                                       : tr("Message %1…").arg(m_model.displayName()));
        m_composer->setHint(
            raw ? tr("This model has no chat template: it continues the plain text of the conversation.") : QString());
    } else {
        m_composer->setHint(QString());
    }
    m_composer->setSystemPromptSet(!m_session.service().systemPrompt().empty());
}

void ChatPage::conversationOpened()
{
    const std::optional<ConversationId> opened = m_session.service().currentConversation();
    m_composer->endEdit();
    // What was written before there was any conversation belongs to the one that begins now.
    const QString draft = m_composer->draft();
    if (m_shown)
        m_drafts[*m_shown] = draft;
    if (m_shown && opened != m_shown)
        m_composer->setDraft(opened ? m_drafts[*opened] : QString());
    m_shown = opened;
    m_pane->setCurrent(m_shown);
    m_find->hide();
    m_transcript->setFind(QString());
    showState();
}

void ChatPage::send()
{
    const QString text = m_composer->message();
    const qint64 edited = m_composer->editing();
    m_transcript->followEnd();
    // Refused: what was written stays where it is, and the reason is said above it.
    if (!(edited ? m_session.edit(edited, text) : m_session.send(text)))
        return;
    m_composer->endEdit();
    m_composer->clear();
    m_notice->hide();
    m_transcript->followEnd();
}

void ChatPage::sendPrompt(const QString& text)
{
    m_composer->setDraft(text);
    send();
}

void ChatPage::newChat()
{
    showScopeTab(false);
    m_pane->searchField()->clear();
    m_session.newConversation();
    m_composer->edit()->setFocus();
}

void ChatPage::find()
{
    showScopeTab(false);
    m_find->open();
}

void ChatPage::attach(const QStringList& files)
{
    showScopeTab(false);
    m_composer->attachFiles(files);
}

void ChatPage::remove(ConversationId id)
{
    const std::optional<int> row = m_session.conversationModel().rowOf(id);
    const QString title = row ? m_session.conversationModel().index(*row).data().toString() : QString();
    m_session.removeConversation(id);
    m_notice->show(
        NoticeBar::Kind::Plain, tr("“%1” was deleted.").arg(title), tr("Undo"),
        [this, id] {
            m_session.restoreConversation(id);
            m_session.openConversation(id);
        },
        kUndoMs);
}

}  // namespace tokenscope::ui
