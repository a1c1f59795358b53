#include "engine/engine.h"

#include "engine/engine_loop.h"
#include "engine/loaded_model.h"
#include "engine/mailbox.h"

#include <random>
#include <thread>

#include <pthread.h>

namespace tokenscope {
namespace {

// Owns the thread. Destruction closes the mailbox, which cancels a load and interrupts a step, and waits for the
// thread.
class Engine final : public EnginePort {
public:
    Engine(const EngineDependencies& dependencies, std::unique_ptr<ModelLoader> loader)
        : m_mailbox(*dependencies.clock), m_loop(m_mailbox, dependencies, std::move(loader)), m_thread([this] {
              pthread_setname_np(pthread_self(), "engine");
              m_loop.run();
          })
    {
    }

    ~Engine() override
    {
        m_mailbox.close();
        m_thread.join();
    }

    void load(const std::filesystem::path& path, const EngineSettings& settings) override
    {
        m_mailbox.load(path, settings);
    }
    void cancelLoad() override { m_mailbox.cancelLoads(); }
    void unload() override { m_mailbox.unload(); }
    RequestId submit(RequestSpec spec) override { return m_mailbox.submit(std::move(spec)); }
    void cancel(RequestId request) override { m_mailbox.cancel(request); }
    std::vector<Event> takeEvents() override { return m_mailbox.takeEvents(); }
    bool waitForEvents(std::chrono::milliseconds timeout) override { return m_mailbox.waitForEvents(timeout); }
    std::shared_ptr<const ModelText> modelText() const override { return m_mailbox.modelText(); }

private:
    Mailbox m_mailbox;
    EngineLoop m_loop;
    std::thread m_thread;  // last: begins when the rest is there
};

std::uint64_t drawSeedFromSystem()
{
    std::random_device device;
    return (std::uint64_t{device()} << 32) | device();
}

}  // namespace

std::unique_ptr<EnginePort> makeEngine(EngineDependencies dependencies, std::unique_ptr<ModelLoader> loader)
{
    if (!dependencies.clock)
        dependencies.clock = &systemClock();
    if (!dependencies.drawSeed)
        dependencies.drawSeed = drawSeedFromSystem;
    return std::make_unique<Engine>(dependencies, std::move(loader));
}

}  // namespace tokenscope
