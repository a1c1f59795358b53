// Fetches the starter model with packaging/fetch-model.sh, as a process of its own that can be cancelled. The script is
// looked for beside the program: in the source tree it was built in, or in the installed share folder.
#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QProcess>
#include <QString>

namespace tokenscope::ui {

class ModelFetcher : public QObject {
    Q_OBJECT

public:
    // `script` empty: looked for.
    explicit ModelFetcher(QString script = {}, QObject* parent = nullptr);
    ~ModelFetcher() override;

    static QString findScript();

    void start(const QString& model, const QString& folder);
    void cancel();
    bool running() const { return m_process.state() != QProcess::NotRunning; }
    qint64 done() const { return m_done; }
    qint64 total() const { return m_total; }
    double secondsLeft() const;  // below 0: not known yet

signals:
    void progressed();
    void finished();                       // the file is there
    void failed(const QString& sentence);  // empty: cancelled

private:
    void readProgress();
    void ended(int exitCode, QProcess::ExitStatus status);

    QString m_script;
    QProcess m_process;
    QByteArray m_line;
    QByteArray m_errors;
    QElapsedTimer m_clock;
    qint64 m_done = 0;
    qint64 m_total = 0;
    bool m_cancelled = false;
};

}  // namespace tokenscope::ui
