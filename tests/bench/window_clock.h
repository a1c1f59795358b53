// What the GUI thread does while something is measured: the processor time it takes, the longest wait of an event
// posted to it every 10 ms (what a key press would have to wait at most), the longest single event and the longest
// repaint of the window. All but the processor time is wall time, so a busy machine makes it longer: measure on a quiet
// one.
#pragma once

#include <QApplication>
#include <QElapsedTimer>
#include <QEvent>

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace tokenscope::bench {

struct GuiTimes {
    double seconds = 0.0;
    double cpuMsPerSecond = 0.0;
    double longestWaitMs = 0.0;
    double longestEventMs = 0.0;
    std::string longestEvent;  // "Timer of ScopeView"
    double longestFrameMs = 0.0;
    int frames = 0;
    std::map<std::string, double> cpuMsByEvent;  // of the events the loop delivers itself
};

class GuiClock : public QApplication {
public:
    GuiClock(int& argc, char** argv);
    ~GuiClock() override;

    void begin();
    GuiTimes end();

    bool notify(QObject* receiver, QEvent* event) override;

private:
    void stopAsking();

    bool m_measuring = false;
    int m_depth = 0;
    QElapsedTimer m_wall;
    std::int64_t m_cpuAtBegin = 0;
    GuiTimes m_times;
    std::thread m_asking;
    std::mutex m_lock;  // guards m_stopped
    std::condition_variable m_wake;
    bool m_stopped = false;
};

}  // namespace tokenscope::bench
