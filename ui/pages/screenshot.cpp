#include "ui/pages/screenshot.h"

#include "ui/charts/scope_view.h"
#include "ui/pages/chat_page.h"
#include "ui/pages/main_window.h"

#include <QPixmap>
#include <QTimer>

namespace tokenscope::ui {
namespace {

// The run gets its number and the list of models is read; the charts are asked for by hand.
constexpr int kSettleMs = 700;

}  // namespace

Screenshot::Screenshot(MainWindow& window, ModelController& model, ChatSession& session, QObject* parent)
    : QObject(parent), m_window(window), m_model(model), m_session(session)
{
}

void Screenshot::take(const QString& file, const QString& model, const QString& prompt)
{
    m_file = file;
    m_prompt = prompt;
    if (model.isEmpty()) {
        QTimer::singleShot(kSettleMs, this, &Screenshot::save);
        return;
    }
    connect(&m_model, &ModelController::failed, this, [this](const QString& sentence) { emit finished(2, sentence); });
    connect(&m_session, &ChatSession::refused, this, [this](const QString& sentence) { emit finished(1, sentence); });
    connect(&m_model, &ModelController::loadEnded, this, [this](bool success) {
        if (!success)
            return;
        if (m_prompt.isEmpty())
            QTimer::singleShot(kSettleMs, this, &Screenshot::save);
        else
            // After everything else has heard of the model.
            QTimer::singleShot(0, this, [this] { m_window.chatPage().sendPrompt(m_prompt); });
    });
    connect(&m_session, &ChatSession::answeringChanged, this, [this](bool answering) {
        if (!answering)
            QTimer::singleShot(kSettleMs, this, &Screenshot::save);
    });
    m_model.load(model);
}

void Screenshot::save()
{
    m_window.scope().refresh();
    const QPixmap picture = m_window.grab();
    if (!picture.save(m_file, "PNG")) {
        emit finished(2, tr("%1 could not be written").arg(m_file));
        return;
    }
    QString error;
    const TranscriptModel& transcript = m_session.transcriptModel();
    if (!m_prompt.isEmpty() && transcript.rowCount() > 0)
        if (const TranscriptItem& last = transcript.item(transcript.rowCount() - 1); last.look == MessageLook::Failed)
            error = last.errorText;
    emit finished(error.isEmpty() ? 0 : 1, error);
}

}  // namespace tokenscope::ui
