// What menus, shortcuts and the small buttons of the chat page do.
#include "ui/pages/chat_page.h"
#include "ui/pages/system_prompt_dialog.h"
#include "ui/theme/icons.h"
#include "ui/widgets/composer.h"
#include "ui/widgets/conversation_pane.h"
#include "ui/widgets/notice_bar.h"
#include "ui/widgets/rendered_text.h"
#include "ui/widgets/transcript_view.h"

#include <QApplication>
#include <QClipboard>
#include <QDesktopServices>
#include <QDir>
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenu>
#include <QMessageBox>
#include <QSaveFile>
#include <QUrl>

namespace tokenscope::ui {
namespace {

constexpr qint64 kMaxImportBytes = 64 * 1024 * 1024;
constexpr int kSaidMs = 6000;

QString fileNameFor(QString title)
{
    static const QString forbidden = QStringLiteral("/\\:*?\"<>|\n\t");
    for (QChar& c : title)
        if (forbidden.contains(c))
            c = u' ';
    title = title.simplified().left(60);
    return title.isEmpty() ? QStringLiteral("chat") : title;
}

}  // namespace

qint64 ChatPage::messageFor(MessageAction action) const
{
    const TranscriptModel& model = m_session.transcriptModel();
    const bool wantsUser = action == MessageAction::Edit;
    const bool sibling = action == MessageAction::NextSibling || action == MessageAction::PreviousSibling;
    const auto fits = [&](const TranscriptItem& item, bool current) {
        if (sibling)
            return item.siblingCount > 1;
        return (current && action == MessageAction::Copy) || item.fromUser == wantsUser;
    };
    if (m_transcript->hasFocus())
        if (const std::optional<int> row = model.rowOf(m_transcript->currentMessage()))
            if (fits(model.item(*row), true))
                return model.item(*row).id;
    for (int row = model.rowCount() - 1; row >= 0; --row)
        if (fits(model.item(row), false))
            return model.item(row).id;
    return 0;
}

void ChatPage::act(qint64 message, MessageAction action)
{
    const std::optional<int> row = m_session.transcriptModel().rowOf(message);
    if (!row)
        return;
    const TranscriptItem& item = m_session.transcriptModel().item(*row);
    switch (action) {
    case MessageAction::Copy:
        QApplication::clipboard()->setText(item.text);
        break;
    case MessageAction::Regenerate:
        m_transcript->followEnd();
        m_session.regenerate(message);
        break;
    case MessageAction::Continue:
        m_transcript->followEnd();
        m_session.continueAnswer(message);
        break;
    case MessageAction::Edit:
        m_composer->beginEdit(message, item.text);
        break;
    case MessageAction::PreviousSibling:
    case MessageAction::NextSibling: {
        const int step = action == MessageAction::NextSibling ? 1 : -1;
        m_session.service().selectSibling(message, (item.siblingIndex + step + item.siblingCount) % item.siblingCount);
        break;
    }
    case MessageAction::None:
        break;
    }
}

void ChatPage::copyMessage()
{
    if (!m_transcript->selectedText().isEmpty())
        m_transcript->copySelection();
    else
        act(messageFor(MessageAction::Copy), MessageAction::Copy);
}

void ChatPage::regenerate()
{
    act(messageFor(MessageAction::Regenerate), MessageAction::Regenerate);
}

void ChatPage::continueAnswer()
{
    act(messageFor(MessageAction::Continue), MessageAction::Continue);
}

void ChatPage::editLast()
{
    act(messageFor(MessageAction::Edit), MessageAction::Edit);
}

void ChatPage::stepSibling(int by)
{
    const MessageAction action = by > 0 ? MessageAction::NextSibling : MessageAction::PreviousSibling;
    act(messageFor(action), action);
}

void ChatPage::renameChat()
{
    m_pane->renameCurrent();
}

void ChatPage::removeChat()
{
    if (const std::optional<ConversationId> id = m_pane->current())
        remove(*id);
}

void ChatPage::exportChat(bool json)
{
    const std::optional<ConversationId> id = m_session.service().currentConversation();
    if (!id)
        return;
    const Result<std::string> text =
        json ? m_session.service().exportJson(*id) : m_session.service().exportMarkdown(*id);
    if (!text) {
        m_notice->show(NoticeBar::Kind::Error, QString::fromStdString(text.error().message));
        return;
    }
    const std::optional<int> row = m_session.conversationModel().rowOf(*id);
    const QString title = row ? m_session.conversationModel().index(*row).data().toString() : QString();
    const QString path = QFileDialog::getSaveFileName(this, json ? tr("Export as JSON") : tr("Export as Markdown"),
                                                      QDir(m_fileFolder).filePath(fileNameFor(title)) +
                                                          (json ? QStringLiteral(".json") : QStringLiteral(".md")),
                                                      json ? tr("JSON (*.json)") : tr("Markdown (*.md)"));
    if (path.isEmpty())
        return;
    m_fileFolder = QFileInfo(path).absolutePath();
    QSaveFile file(path);
    const QByteArray bytes = QByteArray::fromStdString(*text);
    if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size() || !file.commit())
        m_notice->show(NoticeBar::Kind::Error, tr("%1 could not be written: %2").arg(path, file.errorString()));
    else
        m_notice->show(NoticeBar::Kind::Plain, tr("Written to %1").arg(path), {}, {}, kSaidMs);
}

void ChatPage::importChat()
{
    const QString path = QFileDialog::getOpenFileName(this, tr("Import a chat"), m_fileFolder,
                                                      tr("Chats (*.json *.md *.markdown);;All files (*)"));
    if (path.isEmpty())
        return;
    m_fileFolder = QFileInfo(path).absolutePath();
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly) || file.size() > kMaxImportBytes) {
        const QString why = file.isOpen() ? tr("it is larger than 64 MiB") : file.errorString();
        m_notice->show(NoticeBar::Kind::Error, tr("%1 cannot be imported: %2").arg(path, why));
        return;
    }
    const QByteArray bytes = file.readAll();
    const std::string_view text(bytes.constData(), static_cast<std::size_t>(bytes.size()));
    const bool json = QFileInfo(path).suffix().compare(QLatin1String("json"), Qt::CaseInsensitive) == 0;
    const Result<ConversationId> id =
        json ? m_session.service().importJson(text) : m_session.service().importMarkdown(text);
    if (!id)
        m_notice->show(NoticeBar::Kind::Error, QString::fromStdString(id.error().message));
    else
        m_session.openConversation(*id);
}

void ChatPage::editSystemPrompt()
{
    SystemPromptDialog dialog(QString::fromStdString(m_session.service().systemPrompt()), this);
    if (dialog.exec() != QDialog::Accepted)
        return;
    if (!m_session.service().currentConversation())
        m_session.newConversation();
    m_session.service().setSystemPrompt(dialog.text().toStdString());
    showState();
}

void ChatPage::chatMenu(ConversationId id, const QPoint& at)
{
    m_session.openConversation(id);
    QMenu menu(this);
    menu.addAction(menuIcon(QStringLiteral("edit"), this), tr("Rename"), this, &ChatPage::renameChat);
    menu.addAction(menuIcon(QStringLiteral("download"), this), tr("Export as Markdown…"), this,
                   [this] { exportChat(false); });
    menu.addAction(menuIcon(QStringLiteral("download"), this), tr("Export as JSON…"), this,
                   [this] { exportChat(true); });
    menu.addSeparator();
    menu.addAction(menuIcon(QStringLiteral("trash"), this), tr("Delete"), this, [this, id] { remove(id); });
    menu.exec(at);
}

void ChatPage::messageMenu(qint64 message, const QPoint& at)
{
    const std::optional<int> row = m_session.transcriptModel().rowOf(message);
    if (!row)
        return;
    const TranscriptItem item = m_session.transcriptModel().item(*row);
    QMenu menu(this);
    if (!m_transcript->selectedText().isEmpty())
        menu.addAction(menuIcon(QStringLiteral("copy"), this), tr("Copy selection"), this,
                       [this] { m_transcript->copySelection(); });
    menu.addAction(menuIcon(QStringLiteral("copy"), this), item.fromUser ? tr("Copy message") : tr("Copy as Markdown"),
                   this, [this, message] { act(message, MessageAction::Copy); });
    const auto add = [&](MessageAction action, const QString& icon) {
        QAction* entry = menu.addAction(menuIcon(icon, this), actionName(action), this,
                                        [this, message, action] { act(message, action); });
        entry->setEnabled(!m_session.answering());
    };
    if (item.fromUser) {
        add(MessageAction::Edit, QStringLiteral("edit"));
    } else {
        add(MessageAction::Regenerate, QStringLiteral("refresh"));
        add(MessageAction::Continue, QStringLiteral("continue"));
    }
    if (item.siblingCount > 1) {
        menu.addSeparator();
        add(MessageAction::PreviousSibling, QStringLiteral("left"));
        add(MessageAction::NextSibling, QStringLiteral("right"));
    }
    menu.exec(at);
}

void ChatPage::openLink(const QUrl& url)
{
    if (!mayOpen(url))
        return;
    QMessageBox question(QMessageBox::Question, tr("Open this link?"),
                         tr("A model wrote this address. Your browser would go to:"),
                         QMessageBox::Open | QMessageBox::Cancel, this);
    question.setTextFormat(Qt::PlainText);
    question.setInformativeText(url.toString());
    question.setDefaultButton(QMessageBox::Cancel);
    if (question.exec() == QMessageBox::Open)
        QDesktopServices::openUrl(url);
}

}  // namespace tokenscope::ui
