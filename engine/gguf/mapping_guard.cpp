#include "engine/gguf/mapping_guard.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <utility>

namespace tokenscope {
namespace {

// Everything the handler touches: plain atomics, no locks, no allocation.
struct GuardedRange {
    std::atomic<bool> taken{false};
    std::atomic<std::uintptr_t> begin{0};
    std::atomic<std::uintptr_t> end{0};  // 0: not armed
    std::atomic<bool> hit{false};
};

constexpr int kSlots = 1'024;  // one a part of a split model
std::array<GuardedRange, kSlots> g_ranges;
std::uintptr_t g_pageBytes = 4'096;
struct sigaction g_previous;

void onBusError(int, siginfo_t* info, void*)
{
    const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
    for (GuardedRange& range : g_ranges) {
        if (address < range.begin.load() || address >= range.end.load())
            continue;
        // A plain system call, safe here although POSIX does not list it.
        void* page = reinterpret_cast<void*>(address / g_pageBytes * g_pageBytes);
        if (::mmap(page, g_pageBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
            break;
        range.hit.store(true);
        return;
    }
    // Not ours: the read is tried again under whatever was there before, which by default ends the process.
    ::sigaction(SIGBUS, &g_previous, nullptr);
}

void installHandler()
{
    static const bool installed = [] {
        g_pageBytes = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
        struct sigaction action{};
        action.sa_sigaction = onBusError;
        action.sa_flags = SA_SIGINFO | SA_NODEFER;
        ::sigemptyset(&action.sa_mask);
        return ::sigaction(SIGBUS, &action, &g_previous) == 0;
    }();
    (void)installed;
}

}  // namespace

MappingGuard::MappingGuard(const std::byte* begin, std::size_t byteCount)
{
    installHandler();
    for (int slot = 0; slot < kSlots && m_slot < 0; ++slot) {
        GuardedRange& range = g_ranges[static_cast<std::size_t>(slot)];
        if (range.taken.exchange(true))
            continue;
        range.hit.store(false);
        range.begin.store(reinterpret_cast<std::uintptr_t>(begin));
        range.end.store(reinterpret_cast<std::uintptr_t>(begin) + byteCount);
        m_slot = slot;
    }
}

MappingGuard::~MappingGuard()
{
    if (m_slot < 0)
        return;
    GuardedRange& range = g_ranges[static_cast<std::size_t>(m_slot)];
    range.end.store(0);
    range.begin.store(0);
    range.taken.store(false);
}

MappingGuard::MappingGuard(MappingGuard&& other) noexcept : m_slot(std::exchange(other.m_slot, -1)) {}

MappingGuard& MappingGuard::operator=(MappingGuard&& other) noexcept
{
    std::swap(m_slot, other.m_slot);
    return *this;
}

bool MappingGuard::wasHit() const
{
    return m_slot >= 0 && g_ranges[static_cast<std::size_t>(m_slot)].hit.load();
}

}  // namespace tokenscope
