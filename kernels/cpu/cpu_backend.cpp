#include "kernels/cpu/cpu_backend.h"

#include "kernels/checks.h"
#include "kernels/cpu/step_runner.h"

#include <algorithm>
#include <cassert>
#include <new>
#include <string>

namespace tokenscope::kernels {
namespace {

tl::unexpected<KernelError> unsupported(std::string message)
{
    return tl::unexpected(KernelError{KernelErrorCode::Unsupported, std::move(message)});
}

KernelError outOfMemory(const std::string& what)
{
    return {KernelErrorCode::OutOfMemory, what + ": the system refused a small amount of memory"};
}

class CpuModel final : public DeviceModel {
public:
    CpuModel(std::unique_ptr<ThreadPool> pool, PackedModel model, StepScratch scratch, Isa isa)
        : m_pool(std::move(pool)),
          m_runner(std::move(model), std::move(scratch), matmulKernels(isa), stepKernels(isa), *m_pool)
    {
    }

    KernelResult<void> reserveLogits(int rows) { return m_runner.reserveLogits(static_cast<std::size_t>(rows)); }

    KernelResult<void> reserveCache(const CacheSpec& spec) override
    {
        const PackedModel& model = m_runner.model();
        m_cache = KvCache();  // before the new one, so that both are never held
        auto cache = KvCache::allocate(
            {static_cast<int>(model.layers.size()), model.kvHeads, model.headDimK, model.headDimV}, spec);
        if (!cache)
            return tl::unexpected(cache.error());
        m_cache = std::move(*cache);
        return {};
    }

    KernelResult<StepResult> runStep(const StepPlan& plan, const std::atomic<bool>* cancelled) override
    try {
        assert(isConsistent(plan, m_runner.model().vocabulary, m_cache.blockCount()));
        return m_runner.run(plan, m_cache, cancelled);
    } catch (const std::bad_alloc&) {
        return tl::unexpected(outOfMemory("the plan of a step of " + std::to_string(plan.rows()) + " rows"));
    }

    bool profile(StepProfile* profile) override
    {
        m_runner.profile(profile);
        return true;
    }

    int hostThreads() const override { return m_pool->threads(); }
    void onHostThreads(const std::function<void(int thread)>& work) override
    {
        m_pool->run([&](int thread) { work(thread); });
    }

    DeviceMemory memory() const override
    {
        return {m_runner.model().arena.bytes(), m_cache.bytes(), m_runner.scratchBytes()};
    }

private:
    std::unique_ptr<ThreadPool> m_pool;
    StepRunner m_runner;
    KvCache m_cache;
};

class CpuBackend final : public Backend {
public:
    explicit CpuBackend(const CpuOptions& options) : m_options(options) {}

    KernelResult<std::unique_ptr<DeviceModel>> load(const LayerProgram& program, const LoadOptions& options) override
    try {
        if (auto shapes = checkShapes(program); !shapes)
            return tl::unexpected(shapes.error());
        if (program.headDimK % 8 != 0 || program.headDimV % 8 != 0)
            return unsupported(program.name + ": heads of " + std::to_string(program.headDimK) + " and " +
                               std::to_string(program.headDimV) +
                               " elements; the CPU kernels need multiples of 8 (the reference device does not)");
        auto pool = ThreadPool::start(m_options.threads);
        if (!pool)
            return tl::unexpected(pool.error());
        auto model = packModel(program, options, matmulKernels(m_options.isa), **pool);
        if (!model)
            return tl::unexpected(model.error());
        auto scratch = StepScratch::allocate(ScratchShape::of(program, m_options.threads));
        if (!scratch)
            return tl::unexpected(scratch.error());
        auto device =
            std::make_unique<CpuModel>(std::move(*pool), std::move(*model), std::move(*scratch), m_options.isa);
        if (auto reserved = device->reserveLogits(kReservedLogitRows); !reserved)
            return tl::unexpected(reserved.error());
        return std::unique_ptr<DeviceModel>(std::move(device));
    } catch (const std::bad_alloc&) {
        return tl::unexpected(outOfMemory("loading " + program.name));
    }

    DeviceMemory estimate(const LayerProgram& program) const override
    {
        const std::size_t logits = logitBytes(kReservedLogitRows, program.vocabulary);
        return {packedModelBytes(program), 0,
                stepScratchBytes(ScratchShape::of(program, m_options.threads)) + arenaBytes(logits)};
    }

    std::string description() const override
    {
        const char* isa = m_options.isa == Isa::Avx512 ? "AVX-512 VNNI"
                          : m_options.isa == Isa::Avx2 ? "AVX2"
                          : m_options.isa == Isa::Neon ? "NEON dot products"
                                                       : "scalar";
        const int threads = m_options.threads;
        return std::string("CPU · ") + isa + " · " + std::to_string(threads) + (threads == 1 ? " thread" : " threads");
    }

private:
    CpuOptions m_options;
};

}  // namespace

KernelResult<std::unique_ptr<Backend>> makeCpuBackend(const CpuOptions& options)
{
    const std::vector<Isa>& isas = availableIsas();
    if (std::find(isas.begin(), isas.end(), options.isa) == isas.end())
        return unsupported("this processor has no " + std::string(isaName(options.isa)) + ": its best is " +
                           std::string(isaName(isas.back())));
    const int most = 4 * physicalCores();
    if (options.threads < 1 || options.threads > most)
        return unsupported(std::to_string(options.threads) + " threads: 1 to " + std::to_string(most) +
                           " are possible on this machine");
    return std::unique_ptr<Backend>(std::make_unique<CpuBackend>(options));
}

}  // namespace tokenscope::kernels
