#include "kernels/cpu/ceilings.h"

#include "kernels/cpu/isa_tables.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <sys/mman.h>

namespace tokenscope::kernels {
namespace {

using Clock = std::chrono::steady_clock;

// The best of several short windows: what the machine can do, not what it did while something else ran beside.
// Windows are about as long as the scheduler leaves a thread alone, and long enough to read several times a cache.
constexpr int kWindows = 24;
constexpr std::chrono::milliseconds kWindow{12};
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;  // read between two looks at the clock: some 0.1 ms
constexpr int kPieceRounds = 20'000;                       // the same for multiplications

tl::unexpected<KernelError> error(KernelErrorCode code, std::string message)
{
    return tl::unexpected(KernelError{code, std::move(message)});
}

// Largest cache of the first processor as the kernel lists it ("32768K"); 32 MiB if it does not say.
std::size_t lastLevelCacheBytes()
{
    std::size_t largest = 0;
    for (int index = 0; index < 8; ++index) {
        std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/size");
        std::size_t size = 0;
        char unit = 0;
        if (file >> size >> unit)
            largest = std::max(largest, size << (unit == 'M' ? 20 : unit == 'K' ? 10 : 0));
    }
    return largest > 0 ? largest : std::size_t{32} << 20;
}

// Four times the last-level cache, so that at most a quarter could still be in it, within what a small machine can
// spare for a second.
std::size_t bufferBytes(int threads)
{
    const std::size_t wanted = std::clamp(4 * lastLevelCacheBytes(), std::size_t{64} << 20, std::size_t{256} << 20);
    const std::size_t unit = static_cast<std::size_t>(threads) * kPieceBytes;
    return (wanted + unit - 1) / unit * unit;
}

class HugePageBuffer {
public:
    explicit HugePageBuffer(std::size_t bytes) : m_bytes(bytes)
    {
        void* const mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (mapped == MAP_FAILED)
            return;
        m_data = static_cast<std::byte*>(mapped);
        ::madvise(mapped, bytes, MADV_HUGEPAGE);  // refused where the system has none: then small pages are the ceiling
    }
    ~HugePageBuffer()
    {
        if (m_data != nullptr)
            ::munmap(m_data, m_bytes);
    }
    HugePageBuffer(const HugePageBuffer&) = delete;
    HugePageBuffer& operator=(const HugePageBuffer&) = delete;

    std::byte* data() const { return m_data; }

private:
    std::byte* m_data = nullptr;
    std::size_t m_bytes;
};

// Runs `work(thread, piece)` on every thread from one common start until the window is over; what it returns is summed
// and divided by the time to the last thread's end. 0: the system gave no threads.
double ratePerSecond(int threads, const std::function<double(int, int)>& work)
{
    enum { kWait, kGo, kAbandon };
    std::atomic<int> signal{kWait};
    std::vector<double> done(static_cast<std::size_t>(threads));
    Clock::time_point start;
    const auto body = [&](int thread) {
        signal.wait(kWait);
        if (signal == kAbandon)
            return;
        double count = 0.0;
        for (int piece = 0; Clock::now() < start + kWindow; ++piece)
            count += work(thread, piece);
        done[static_cast<std::size_t>(thread)] = count;
    };
    const auto release = [&](int value) {
        start = Clock::now();
        signal = value;
        signal.notify_all();
    };

    std::vector<std::jthread> helpers;
    try {
        for (int thread = 1; thread < threads; ++thread)
            helpers.emplace_back(body, thread);
    } catch (const std::system_error&) {
        release(kAbandon);
        return 0.0;
    }
    release(kGo);
    body(0);
    helpers.clear();  // joins
    const std::chrono::duration<double> elapsed = Clock::now() - start;
    double total = 0.0;
    for (const double count : done)
        total += count;
    return total / elapsed.count();
}

double bestRate(int threads, const std::function<double(int, int)>& work)
{
    double best = 0.0;
    for (int window = 0; window < kWindows; ++window)
        best = std::max(best, ratePerSecond(threads, work));
    return best;
}

}  // namespace

KernelResult<Ceilings> measureCeilings(const CpuOptions& options)
{
    const auto& available = availableIsas();
    if (std::find(available.begin(), available.end(), options.isa) == available.end())
        return error(KernelErrorCode::Unsupported, "this processor has no " + std::string(isaName(options.isa)) +
                                                       ", so its ceilings cannot be measured");
    const int mostThreads = 4 * physicalCores();
    if (options.threads < 1 || options.threads > mostThreads)
        return error(KernelErrorCode::Unsupported, std::to_string(options.threads) + " threads, expected 1 to " +
                                                       std::to_string(mostThreads) + " (four a core)");

    const int threads = options.threads;
    const std::size_t bytes = bufferBytes(threads);
    const HugePageBuffer buffer(bytes);
    if (buffer.data() == nullptr)
        return error(KernelErrorCode::OutOfMemory, "measuring the memory bandwidth takes " + std::to_string(bytes) +
                                                       " bytes, and the system gave none");

    const CeilingKernels& kernels = isaTables(options.isa).ceilings;
    std::atomic<std::uint64_t> sink{0};
    const std::size_t sliceBytes = bytes / static_cast<std::size_t>(threads);
    const int pieces = static_cast<int>(sliceBytes / kPieceBytes);
    const auto pieceOf = [&](int thread, int piece) {
        return buffer.data() + static_cast<std::size_t>(thread) * sliceBytes +
               static_cast<std::size_t>(piece % pieces) * kPieceBytes;
    };

    // Untouched pages are all the same page of zeros, which any cache holds.
    for (std::size_t at = 0; at < bytes; at += 4096)
        buffer.data()[at] = std::byte{1};

    Ceilings ceilings;
    ceilings.readBytesPerSecond = bestRate(threads, [&](int thread, int piece) {
        sink += kernels.read(pieceOf(thread, piece), kPieceBytes);
        return static_cast<double>(kPieceBytes);
    });
    ceilings.int8MacsPerSecond = bestRate(threads, [&](int, int) {
        sink += kernels.multiplyInt8(kPieceRounds);
        return static_cast<double>(kPieceRounds) * kernels.int8MacsPerRound;
    });
    ceilings.f32MacsPerSecond = bestRate(threads, [&](int, int) {
        sink += kernels.multiplyF32(kPieceRounds);
        return static_cast<double>(kPieceRounds) * kernels.f32MacsPerRound;
    });
    if (!(ceilings.readBytesPerSecond > 0.0 && ceilings.int8MacsPerSecond > 0.0 && ceilings.f32MacsPerSecond > 0.0))
        return error(KernelErrorCode::OutOfMemory,
                     "the system gave no " + std::to_string(threads) + " threads to measure with");
    return ceilings;
}

}  // namespace tokenscope::kernels
