// Carries engine events to the GUI thread: a 33 ms timer that runs only while something is going on (a load or a
// request), drains the queue and emits each batch once. A queued signal per token would freeze the window at benchmark
// rates.
#pragma once

#include "engine/engine.h"

#include <QObject>
#include <QTimer>

#include <vector>

namespace tokenscope {

class EngineBridge : public QObject {
    Q_OBJECT

public:
    explicit EngineBridge(EnginePort& engine, QObject* parent = nullptr);

    // Forward to the engine and start draining. GUI thread.
    void load(const std::filesystem::path& path, const EngineSettings& settings);
    void cancelLoad();
    void unload();
    void wake();  // a request was submitted directly: start the timer

    bool modelIsLoaded() const { return m_engine.modelText() != nullptr; }
    EnginePort& engine() { return m_engine; }

signals:
    // One batch, in order; valid during the call only (direct connections).
    void events(const std::vector<tokenscope::Event>& batch);
    void drained();  // once after each batch: repaint what changed

private:
    void drain();
    void start();

    EnginePort& m_engine;
    QTimer m_timer;
    int m_running = 0;    // loads and requests that have not ended
    int m_idleTicks = 0;  // drains without an event since nothing runs
};

}  // namespace tokenscope
