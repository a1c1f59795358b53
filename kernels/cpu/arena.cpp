#include "kernels/cpu/arena.h"

#include <sys/mman.h>

#include <cstdint>
#include <limits>
#include <utility>

namespace tokenscope::kernels {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

}  // namespace

std::size_t arenaBytes(std::size_t bytes)
{
    const std::size_t page = bytes >= kHugePage ? kHugePage : kPage;
    return (bytes + page - 1) / page * page;
}

KernelResult<Arena> Arena::allocate(std::size_t bytes, const std::string& what)
{
    Arena arena;
    if (bytes == 0)
        return arena;
    const auto refuse = [&] {
        return tl::unexpected(KernelError{KernelErrorCode::OutOfMemory,
                                          what + ": the system refused " + std::to_string(bytes) + " bytes of memory"});
    };
    if (bytes > std::numeric_limits<std::size_t>::max() / 2)
        return refuse();

    const std::size_t size = arenaBytes(bytes);
    const bool huge = size >= kHugePage;
    // Mapped with room to spare and cut to a huge page's boundary: older kernels align to 4 KiB only.
    const std::size_t mapped = huge ? size + kHugePage : size;
    void* raw = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED)
        return refuse();
    auto* begin = static_cast<std::byte*>(raw);
    if (huge) {
        const auto address = reinterpret_cast<std::uintptr_t>(raw);
        const std::size_t before = (kHugePage - address % kHugePage) % kHugePage;
        if (before > 0)
            munmap(begin, before);
        begin += before;
        if (const std::size_t after = mapped - before - size; after > 0)
            munmap(begin + size, after);
        madvise(begin, size, MADV_HUGEPAGE);  // where it is refused, small pages serve
    }
    arena.m_data = begin;
    arena.m_bytes = size;
    return arena;
}

Arena::Arena(Arena&& other) noexcept
    : m_data(std::exchange(other.m_data, nullptr)), m_bytes(std::exchange(other.m_bytes, 0))
{
}

Arena& Arena::operator=(Arena&& other) noexcept
{
    std::swap(m_data, other.m_data);
    std::swap(m_bytes, other.m_bytes);
    return *this;
}

Arena::~Arena()
{
    if (m_data)
        munmap(m_data, m_bytes);
}

}  // namespace tokenscope::kernels
