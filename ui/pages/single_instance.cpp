#include "ui/pages/single_instance.h"

#include <QCryptographicHash>
#include <QDataStream>
#include <QDir>
#include <QFileInfo>
#include <QLocalServer>
#include <QLocalSocket>

namespace tokenscope::ui {
namespace {

constexpr int kWaitMs = 2000;

}  // namespace

SingleInstance::SingleInstance(const QString& dataFolder, QObject* parent)
    : QObject(parent),
      // Short: a socket's path may have 107 bytes.
      m_serverName(QStringLiteral("tokenscope-") +
                   QString::fromLatin1(QCryptographicHash::hash(QFileInfo(dataFolder).absoluteFilePath().toUtf8(),
                                                                QCryptographicHash::Sha256)
                                           .toHex()
                                           .left(16))),
      m_lock(QDir(dataFolder).filePath(QStringLiteral("window.lock"))), m_server(new QLocalServer(this))
{
    m_lock.setStaleLockTime(0);  // a lock is stale when its process is gone, however long it has run
    m_server->setSocketOptions(QLocalServer::UserAccessOption);
    connect(m_server, &QLocalServer::newConnection, this, [this] {
        QLocalSocket* socket = m_server->nextPendingConnection();
        connect(socket, &QLocalSocket::readyRead, this, [this, socket] {
            QDataStream in(socket);
            QStringList files;
            in.startTransaction();
            in >> files;
            if (!in.commitTransaction())
                return;  // more will come
            socket->write("ok");
            socket->disconnectFromServer();
            emit otherStarted(files);
        });
        connect(socket, &QLocalSocket::disconnected, socket, &QObject::deleteLater);
    });
}

bool SingleInstance::claim(const QStringList& files)
{
    if (m_lock.tryLock(0)) {
        QLocalServer::removeServer(m_serverName);
        m_server->listen(m_serverName);
        return true;
    }
    if (m_lock.error() != QLockFile::LockFailedError)
        return true;  // a folder that cannot be written protects nothing
    QStringList absolute;
    for (const QString& file : files)
        absolute << QFileInfo(file).absoluteFilePath();
    QLocalSocket socket;
    socket.connectToServer(m_serverName);
    if (!socket.waitForConnected(kWaitMs))
        return false;
    QByteArray bytes;
    QDataStream out(&bytes, QIODevice::WriteOnly);
    out << absolute;
    socket.write(bytes);
    socket.waitForBytesWritten(kWaitMs);
    socket.waitForReadyRead(kWaitMs);
    return false;
}

}  // namespace tokenscope::ui
