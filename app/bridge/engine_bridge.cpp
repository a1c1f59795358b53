#include "app/bridge/engine_bridge.h"

#include <algorithm>

namespace tokenscope {
namespace {

constexpr int kDrainMs = 33;  // about one frame in two: a token more often is not seen
// After the last load or request: an unload, or the end of a cancelled one, is still taken.
constexpr int kIdleTicks = 30;

}  // namespace

EngineBridge::EngineBridge(EnginePort& engine, QObject* parent) : QObject(parent), m_engine(engine)
{
    m_timer.setInterval(kDrainMs);
    m_timer.setTimerType(Qt::PreciseTimer);
    connect(&m_timer, &QTimer::timeout, this, &EngineBridge::drain);
}

void EngineBridge::load(const std::filesystem::path& path, const EngineSettings& settings)
{
    m_engine.load(path, settings);
    ++m_running;
    start();
}

void EngineBridge::cancelLoad()
{
    m_engine.cancelLoad();
    start();
}

void EngineBridge::unload()
{
    m_engine.unload();
    start();
}

void EngineBridge::wake()
{
    ++m_running;
    start();
}

void EngineBridge::start()
{
    m_idleTicks = 0;
    if (!m_timer.isActive())
        m_timer.start();
}

void EngineBridge::drain()
{
    const std::vector<Event> batch = m_engine.takeEvents();
    for (const Event& event : batch)
        if (std::holds_alternative<ModelLoaded>(event) || std::holds_alternative<ModelLoadFailed>(event) ||
            std::holds_alternative<RequestFinished>(event))
            m_running = std::max(0, m_running - 1);
    if (batch.empty()) {
        if (m_running == 0 && ++m_idleTicks >= kIdleTicks)
            m_timer.stop();
        return;
    }
    m_idleTicks = 0;
    emit events(batch);
    emit drained();
}

}  // namespace tokenscope
