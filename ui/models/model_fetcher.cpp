#include "ui/models/model_fetcher.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>

#include <csignal>
#include <unistd.h>

namespace tokenscope::ui {

QString ModelFetcher::findScript()
{
    QDir folder(QCoreApplication::applicationDirPath());
    // build/PRESET/tokenscope in a source tree, bin/tokenscope beside share/ where it is installed.
    for (int up = 0; up < 4; ++up) {
        for (const char* place : {"packaging/fetch-model.sh", "share/tokenscope/fetch-model.sh"})
            if (const QString path = folder.filePath(QString::fromLatin1(place)); QFileInfo::exists(path))
                return path;
        if (!folder.cdUp())
            break;
    }
    return {};
}

ModelFetcher::ModelFetcher(QString script, QObject* parent)
    : QObject(parent), m_script(script.isEmpty() ? findScript() : std::move(script))
{
    connect(&m_process, &QProcess::readyReadStandardOutput, this, &ModelFetcher::readProgress);
    connect(&m_process, &QProcess::readyReadStandardError, this, [this] {
        m_errors += m_process.readAllStandardError();
        m_errors = m_errors.right(4000);
    });
    connect(&m_process, &QProcess::finished, this, &ModelFetcher::ended);
    connect(&m_process, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error == QProcess::FailedToStart)
            emit failed(tr("%1 could not be started: %2").arg(m_script, m_process.errorString()));
    });
    // A group of its own: cancelling ends the downloader the script started, too.
    m_process.setChildProcessModifier([] { ::setpgid(0, 0); });
}

ModelFetcher::~ModelFetcher()
{
    disconnect(&m_process, nullptr, this, nullptr);
    cancel();
    m_process.waitForFinished(2000);
}

void ModelFetcher::start(const QString& model, const QString& folder)
{
    if (running())
        return;
    if (m_script.isEmpty()) {
        emit failed(
            tr("packaging/fetch-model.sh was not found beside the program: run it by hand, or open a .gguf file"));
        return;
    }
    m_done = m_total = 0;
    m_cancelled = false;
    m_line.clear();
    m_errors.clear();
    m_clock.start();
    m_process.start(QStringLiteral("bash"), {m_script, QStringLiteral("--progress"), model, folder});
    emit progressed();
}

void ModelFetcher::cancel()
{
    if (!running())
        return;
    m_cancelled = true;
    const auto group = static_cast<pid_t>(m_process.processId());
    if (group > 1)
        ::kill(-group, SIGTERM);
}

double ModelFetcher::secondsLeft() const
{
    const double elapsed = static_cast<double>(m_clock.elapsed()) / 1000.0;
    if (m_done <= 0 || m_total <= m_done || elapsed < 0.5)
        return -1.0;
    return elapsed * static_cast<double>(m_total - m_done) / static_cast<double>(m_done);
}

void ModelFetcher::readProgress()
{
    m_line += m_process.readAllStandardOutput();
    for (qsizetype feed; (feed = m_line.indexOf('\n')) >= 0; m_line.remove(0, feed + 1)) {
        const QList<QByteArray> words = m_line.left(feed).trimmed().split(' ');
        if (words.size() != 3 || words[0] != "progress")
            continue;
        m_done = words[1].toLongLong();
        m_total = words[2].toLongLong();
        emit progressed();
    }
}

void ModelFetcher::ended(int exitCode, QProcess::ExitStatus status)
{
    readProgress();
    if (m_cancelled) {
        emit failed(QString());
    } else if (status == QProcess::NormalExit && exitCode == 0) {
        emit finished();
    } else {
        // The script's last line is the sentence that says why.
        QString said = QString::fromUtf8(m_errors).trimmed().section(u'\n', -1);
        // What belongs to a terminal: its name, and what stands further up there.
        if (said.startsWith(QLatin1String("fetch-model: ")))
            said.remove(0, 13);
        said.remove(QLatin1String(" (see above)"));
        if (!said.isEmpty())
            said[0] = said[0].toUpper();
        emit failed(said.isEmpty() ? tr("The starter model could not be fetched.") : said);
    }
}

}  // namespace tokenscope::ui
