#include "engine/plan/budget.h"

#include <fmt/format.h>

#include <algorithm>

namespace tokenscope {
namespace {

constexpr std::uint64_t kBlock = kernels::kBlockTokens;
constexpr int kUsualContext = 4'096;  // cli.md: the largest that is taken without being asked for
constexpr int kLeastContext = 512;    // below it an automatic context is refused rather than handed out
constexpr int kMaxAskedContext = 1 << 28;
constexpr int kMaxBatch = 64;

std::uint64_t blocksFor(std::uint64_t tokens)
{
    return (tokens + kBlock - 1) / kBlock;
}

std::string megabytes(std::uint64_t bytes)
{
    return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

std::string sumInWords(const MemoryBudget& budget)
{
    return fmt::format("weights {} + cache {} ({} tokens × {} {} × {} bytes) + scratch {} = {}, but {} are available",
                       megabytes(budget.weightBytes), megabytes(budget.kvBytes), budget.context, budget.sequences,
                       budget.sequences == 1 ? "sequence" : "sequences", budget.kvBytesPerToken,
                       megabytes(budget.scratchBytes), megabytes(budget.totalBytes()),
                       megabytes(budget.availableBytes));
}

class Planner {
public:
    Planner(const kernels::LayerProgram& program, const EngineSettings& settings)
        : m_name(program.name), m_settings(settings),
          m_blockBytes(kernels::cacheBlockBytes(program, settings.kv == KvFormat::F16 ? kernels::CacheType::F16
                                                                                      : kernels::CacheType::F32))
    {
    }

    Result<MemoryBudget> plan(int trainedContext, const kernels::DeviceMemory& device, std::uint64_t availableBytes)
    {
        if (m_settings.batch < 1 || m_settings.batch > kMaxBatch)
            return fail(ErrorCode::BadSetting, "batch={}: expected 1 to {}", m_settings.batch, kMaxBatch);
        if (m_settings.context < 0 || m_settings.context > kMaxAskedContext)
            return fail(ErrorCode::BadSetting, "context={}: expected 0 (automatic) to {}", m_settings.context,
                        kMaxAskedContext);
        MemoryBudget budget;
        budget.weightBytes = device.weightBytes;
        budget.scratchBytes = device.scratchBytes;
        budget.kvBytesPerToken = m_blockBytes / kBlock;
        budget.availableBytes = availableBytes;
        budget.sequences = m_settings.batch;
        return m_settings.context > 0 ? planAsked(budget) : planAutomatic(budget, trainedContext);
    }

private:
    std::uint64_t cacheBytes(std::uint64_t context) const
    {
        if (m_settings.kvBudgetBytes > 0)
            return m_settings.kvBudgetBytes / m_blockBytes * m_blockBytes;
        return blocksFor(context) * static_cast<std::uint64_t>(m_settings.batch) * m_blockBytes;
    }

    // The longest sequence the given cache can hold.
    std::uint64_t tokensInBudget() const { return m_settings.kvBudgetBytes / m_blockBytes * kBlock; }

    Result<MemoryBudget> planAsked(MemoryBudget budget) const
    {
        budget.context = m_settings.context;
        const auto asked = static_cast<std::uint64_t>(m_settings.context);
        if (m_settings.kvBudgetBytes > 0 && tokensInBudget() < asked)
            return fail(ErrorCode::BadSetting,
                        "kv_budget={}: holds {} tokens, a context of {} needs {} bytes; give one of "
                        "them another value",
                        m_settings.kvBudgetBytes, tokensInBudget(), asked, blocksFor(asked) * m_blockBytes);
        budget.kvBytes = cacheBytes(asked);
        if (!budget.fits())
            return fail(ErrorCode::OutOfMemory, "{} does not fit: {}; choose a shorter context or a smaller model",
                        m_name, sumInWords(budget));
        return budget;
    }

    Result<MemoryBudget> planAutomatic(MemoryBudget budget, int trainedContext) const
    {
        const int wanted = std::clamp(trainedContext, 1, kUsualContext);
        const int least = std::min(wanted, kLeastContext);
        budget.context = wanted;
        if (m_settings.kvBudgetBytes > 0)
            budget.context =
                static_cast<int>(std::min<std::uint64_t>(tokensInBudget(), static_cast<std::uint64_t>(wanted)));
        if (budget.context < 1)
            return fail(ErrorCode::BadSetting,
                        "kv_budget={}: expected at least the {} bytes of one block of {} "
                        "tokens",
                        m_settings.kvBudgetBytes, m_blockBytes, kBlock);
        budget.kvBytes = cacheBytes(static_cast<std::uint64_t>(budget.context));
        if (budget.fits())
            return budget;
        if (m_settings.kvBudgetBytes == 0)
            if (const int context = longestThatFits(budget); context >= least) {
                budget.context = context;
                budget.kvBytes = cacheBytes(static_cast<std::uint64_t>(context));
                return budget;
            }
        if (m_settings.kvBudgetBytes == 0) {
            budget.context = least;
            budget.kvBytes = cacheBytes(static_cast<std::uint64_t>(least));
        }
        return fail(ErrorCode::OutOfMemory, "{} does not fit: {}; choose a smaller model or close other programs",
                    m_name, sumInWords(budget));
    }

    // A multiple of a block, 0 if not even the weights fit.
    int longestThatFits(const MemoryBudget& budget) const
    {
        const std::uint64_t fixedBytes = budget.weightBytes + budget.scratchBytes;
        if (fixedBytes >= budget.availableBytes)
            return 0;
        const std::uint64_t blocks =
            (budget.availableBytes - fixedBytes) / m_blockBytes / static_cast<std::uint64_t>(m_settings.batch);
        return static_cast<int>(std::min<std::uint64_t>(blocks * kBlock, kUsualContext));
    }

    const std::string& m_name;
    const EngineSettings& m_settings;
    const std::uint64_t m_blockBytes;
};

}  // namespace

Result<MemoryBudget> planMemory(const kernels::LayerProgram& program, int trainedContext,
                                const EngineSettings& settings, const kernels::DeviceMemory& device,
                                std::uint64_t availableBytes)
{
    return Planner(program, settings).plan(trainedContext, device, availableBytes);
}

}  // namespace tokenscope
