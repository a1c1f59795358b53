#include "tests/bench/window_clock.h"

#include <QMetaEnum>

#include <algorithm>
#include <ctime>

namespace tokenscope::bench {
namespace {

std::int64_t threadCpuNs()
{
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

std::string describe(const QObject* receiver, QEvent::Type type)
{
    const char* name = QMetaEnum::fromType<QEvent::Type>().valueToKey(type);
    const QObject* named = receiver->inherits("QTimer") && receiver->parent() ? receiver->parent() : receiver;
    return std::string(name ? name : "event") + " of " + named->metaObject()->className();
}

const QEvent::Type kAsk = static_cast<QEvent::Type>(QEvent::registerEventType());

struct Ask : QEvent {
    explicit Ask(qint64 ns) : QEvent(kAsk), sentNs(ns) {}
    qint64 sentNs;
};

}  // namespace

GuiClock::GuiClock(int& argc, char** argv) : QApplication(argc, argv) {}

GuiClock::~GuiClock()
{
    stopAsking();
}

void GuiClock::begin()
{
    m_times = {};
    m_measuring = true;
    m_wall.start();
    m_stopped = false;
    m_asking = std::thread([this] {
        std::unique_lock lock(m_lock);
        while (!m_wake.wait_for(lock, std::chrono::milliseconds(10), [this] { return m_stopped; }))
            postEvent(this, new Ask(m_wall.nsecsElapsed()));
    });
    m_cpuAtBegin = threadCpuNs();
}

GuiTimes GuiClock::end()
{
    m_measuring = false;
    m_times.seconds = static_cast<double>(m_wall.nsecsElapsed()) / 1e9;
    m_times.cpuMsPerSecond = static_cast<double>(threadCpuNs() - m_cpuAtBegin) / 1e6 / m_times.seconds;
    stopAsking();
    return m_times;
}

void GuiClock::stopAsking()
{
    {
        const std::lock_guard lock(m_lock);
        m_stopped = true;
    }
    m_wake.notify_one();
    if (m_asking.joinable())
        m_asking.join();
}

bool GuiClock::notify(QObject* receiver, QEvent* event)
{
    // Only what the event loop delivers: an event sent while another is handled is part of that one. Storage and engine
    // threads of Qt's pool are not the GUI's.
    if (!m_measuring || m_depth > 0 || receiver->thread() != thread())
        return QApplication::notify(receiver, event);
    const QEvent::Type type = event->type();
    if (type == kAsk) {
        const double ms = static_cast<double>(m_wall.nsecsElapsed() - static_cast<const Ask*>(event)->sentNs) / 1e6;
        m_times.longestWaitMs = std::max(m_times.longestWaitMs, ms);
        return true;
    }
    const std::string what = describe(receiver, type);  // the receiver may be gone afterwards
    const std::int64_t wallBefore = m_wall.nsecsElapsed(), cpuBefore = threadCpuNs();
    ++m_depth;
    const bool taken = QApplication::notify(receiver, event);
    --m_depth;
    if (!m_measuring)
        return taken;  // it ended the measurement
    const double ms = static_cast<double>(m_wall.nsecsElapsed() - wallBefore) / 1e6;
    m_times.cpuMsByEvent[what] += static_cast<double>(threadCpuNs() - cpuBefore) / 1e6;
    if (ms > m_times.longestEventMs) {
        m_times.longestEventMs = ms;
        m_times.longestEvent = what;
    }
    if (type == QEvent::UpdateRequest) {
        m_times.longestFrameMs = std::max(m_times.longestFrameMs, ms);
        ++m_times.frames;
    }
    return taken;
}

}  // namespace tokenscope::bench
