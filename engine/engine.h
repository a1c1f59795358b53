// The façade: load a model, submit requests, cancel, take events. One worker thread owns every engine object; all
// functions here may be called from any thread and never wait for the worker.
#pragma once

#include "engine/base/clock.h"
#include "engine/base/result.h"
#include "engine/plan/budget.h"
#include "engine/types/events.h"
#include "engine/types/request.h"

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

namespace tokenscope {

class Tokenizer;
class ChatTemplate;

// The text side of a loaded model: immutable, shared by threads (tokenize, render, live token counts).
struct ModelText {
    std::shared_ptr<const Tokenizer> tokenizer;
    std::shared_ptr<const ChatTemplate> chatTemplate;  // null: none, or raw mode
    std::string templateError;                         // why the file's template cannot be used
};

// What the window's bridge and the command line need of an engine; a replay of recorded events implements it too.
class EnginePort {
public:
    virtual ~EnginePort() = default;

    // Replaces the loaded model. Ends in ModelLoaded or ModelLoadFailed (Cancelled after cancelLoad()). Running
    // requests are cancelled first.
    virtual void load(const std::filesystem::path& path, const EngineSettings& settings) = 0;
    virtual void cancelLoad() = 0;
    virtual void unload() = 0;

    // Always ends in exactly one RequestFinished, also without a model (Busy) or with bad input.
    virtual RequestId submit(RequestSpec spec) = 0;
    virtual void cancel(RequestId request) = 0;

    // All events since the last call, in order.
    virtual std::vector<Event> takeEvents() = 0;
    // Waits until there are events or the time is over; for threads that may wait (never the GUI's).
    virtual bool waitForEvents(std::chrono::milliseconds timeout) = 0;

    virtual std::shared_ptr<const ModelText> modelText() const = 0;  // null while no model is loaded
};

// Seams for tests; the defaults are the machine's.
struct EngineDependencies {
    const Clock* clock = nullptr;
    const MemoryLimit* memory = nullptr;
    std::function<std::uint64_t()> drawSeed;
};

std::unique_ptr<EnginePort> makeEngine(EngineDependencies dependencies = {});

// "Auto" in settings resolved for this machine.
struct EffectiveDevice {
    Device device;
    IsaChoice isa;
    int threads;
};
Result<EffectiveDevice> resolveDevice(const EngineSettings& settings);

}  // namespace tokenscope
