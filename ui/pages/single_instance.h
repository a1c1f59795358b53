// One window a data folder: the lock protects the database's settings and the memory of the machine; a second start
// hands its files to the first window and raises it.
#pragma once

#include <QLockFile>
#include <QObject>
#include <QStringList>

class QLocalServer;

namespace tokenscope::ui {

class SingleInstance : public QObject {
    Q_OBJECT

public:
    explicit SingleInstance(const QString& dataFolder, QObject* parent = nullptr);

    // True: this is the first. False: another window has been told of `files` (or does not answer).
    bool claim(const QStringList& files);

signals:
    void otherStarted(const QStringList& files);

private:
    QString m_serverName;
    QLockFile m_lock;
    QLocalServer* m_server;  // a child
};

}  // namespace tokenscope::ui
