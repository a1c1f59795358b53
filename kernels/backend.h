// What a device offers: make a device model from a layer program, then run steps on it. The reference, the CPU and any
// later device implement this and nothing else; the engine knows no other way to compute.
//
// All calls of one DeviceModel come from one thread (the engine's); a backend may use threads of its own inside.
#pragma once

#include "kernels/kernel_error.h"
#include "kernels/layer_program.h"
#include "kernels/step_plan.h"
#include "kernels/step_profile.h"

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tokenscope::kernels {

enum class CacheType { F16, F32 };

struct CacheSpec {
    int blockCount = 0;  // blocks of kBlockTokens tokens, each holding K and V of every layer
    CacheType type = CacheType::F16;
};

struct LoadOptions {
    const std::atomic<bool>* cancelled = nullptr;   // read between tensors
    std::function<void(double fraction)> progress;  // 0 … 1, called from the loading thread; may be empty
};

// Kept exactly, because budgets and reports are built on it.
struct DeviceMemory {
    std::size_t weightBytes = 0;
    std::size_t cacheBytes = 0;
    std::size_t scratchBytes = 0;
};

class DeviceModel {
public:
    virtual ~DeviceModel() = default;

    // (Re)allocates the cache; its contents are undefined afterwards. OutOfMemory leaves the model without a cache.
    virtual KernelResult<void> reserveCache(const CacheSpec& spec) = 0;

    // Computes one step. Writes K and V of every row into the cache, returns the wanted logits. `cancelled` is read
    // between stages: a step that is abandoned returns Cancelled and its rows count as never computed.
    // A row's results depend only on its own sequence, never on what else is in the step (bit for bit), nor on the
    // number of threads.
    virtual KernelResult<StepResult> runStep(const StepPlan& plan, const std::atomic<bool>* cancelled) = 0;

    // From now on steps add their stages' times to `profile`, which must outlive them; null: no more. False: this
    // device does not measure stages.
    virtual bool profile(StepProfile* profile)
    {
        (void)profile;
        return false;
    }

    // Calls work(thread) once on each of hostThreads() threads of this device, thread 0 being the caller's, and returns
    // when all are done: for what the host does between two steps. `work` must not throw.
    virtual int hostThreads() const { return 1; }
    virtual void onHostThreads(const std::function<void(int thread)>& work) { work(0); }

    virtual DeviceMemory memory() const = 0;
};

class Backend {
public:
    virtual ~Backend() = default;

    // The views of `program` must stay valid during the call only.
    virtual KernelResult<std::unique_ptr<DeviceModel>> load(const LayerProgram& program,
                                                            const LoadOptions& options) = 0;

    // Bytes load() will take for weights and scratch, known without reading tensor data.
    virtual DeviceMemory estimate(const LayerProgram& program) const = 0;

    virtual std::string description() const = 0;  // "CPU · AVX-512 VNNI · 2 threads"
};

// Bytes one cache block takes over all layers, block layouts included.
std::size_t cacheBlockBytes(const LayerProgram& program, CacheType type);

}  // namespace tokenscope::kernels
