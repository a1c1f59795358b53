// The chat page: conversations on the left, transcript and composer in the middle, the scope on the right, which
// becomes a tab beside the transcript where the window is narrow.
#pragma once

#include "ui/models/chat_session.h"
#include "ui/models/model_controller.h"
#include "ui/widgets/message_layout.h"

#include <QByteArray>
#include <QWidget>

#include <map>

class QScrollArea;
class QSplitter;
class QStackedLayout;

namespace tokenscope::ui {

class Composer;
class ConversationPane;
class FindBar;
class NoticeBar;
class ScopeTabs;
class TranscriptView;

class ChatPage : public QWidget {
    Q_OBJECT

public:
    ChatPage(ChatSession& session, ModelController& model, QWidget* parent = nullptr);

    // Takes the widget over; shown at the right or as a tab.
    void setScope(QWidget* scope);
    bool scopeIsTab() const { return m_scopeIsTab; }

    TranscriptView& transcript() { return *m_transcript; }
    Composer& composer() { return *m_composer; }
    ConversationPane& conversations() { return *m_pane; }
    NoticeBar& notice() { return *m_notice; }

    QByteArray saveLayout() const;
    void restoreLayout(const QByteArray& state);

    // What menus and shortcuts do; the message is the current one, else the last it fits.
    void newChat();
    void find();
    void copyMessage();
    void regenerate();
    void continueAnswer();
    void editLast();
    void stepSibling(int by);
    void renameChat();
    void removeChat();
    void exportChat(bool json);
    void importChat();
    void editSystemPrompt();
    void showScopeTab(bool scope);
    void focusNextPart();  // list → transcript → composer → scope
    void attach(const QStringList& files);
    void sendPrompt(const QString& text);  // as if it had been typed and sent

signals:
    void filesGiven(const QStringList& paths);
    void listChanged();  // the number of conversations may be another

protected:
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    void connectParts();
    void send();
    void act(qint64 message, MessageAction action);
    void showState();
    void conversationOpened();
    void remove(ConversationId id);
    void chatMenu(ConversationId id, const QPoint& at);
    void messageMenu(qint64 message, const QPoint& at);
    void openLink(const QUrl& url);
    void placeScope();
    qint64 messageFor(MessageAction action) const;

    ChatSession& m_session;
    ModelController& m_model;
    QSplitter* m_splitter;
    ConversationPane* m_pane;
    QWidget* m_middle;
    QStackedLayout* m_stack;
    ScopeTabs* m_tabs;
    TranscriptView* m_transcript;
    FindBar* m_find;
    NoticeBar* m_notice;
    Composer* m_composer;
    QScrollArea* m_scope = nullptr;
    QWidget* m_scopeColumn;
    bool m_scopeIsTab = false;
    QString m_fileFolder;  // of the last export or import
    std::map<ConversationId, QString> m_drafts;
    std::optional<ConversationId> m_shown;
};

}  // namespace tokenscope::ui
