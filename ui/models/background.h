// Runs `work` on a thread of Qt's pool and gives its value to `done` on the GUI thread, if `context` still lives.
#pragma once

#include <QCoreApplication>
#include <QPointer>
#include <QThreadPool>

#include <memory>
#include <utility>

namespace tokenscope::ui {

template <typename Work, typename Done>
void runInBackground(QObject* context, Work work, Done done)
{
    QThreadPool::globalInstance()->start(
        [alive = QPointer<QObject>(context), work = std::move(work), done = std::move(done)]() mutable {
            auto value = std::make_shared<decltype(work())>(work());
            // Posted to the application, which outlives every context; the context itself is only looked at over there.
            QMetaObject::invokeMethod(
                QCoreApplication::instance(),
                [alive, value, done = std::move(done)]() mutable {
                    if (alive)
                        done(std::move(*value));
                },
                Qt::QueuedConnection);
        });
}

}  // namespace tokenscope::ui
