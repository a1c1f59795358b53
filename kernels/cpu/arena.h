// One block of anonymous memory in huge pages: 2 MiB pages instead of 4 KiB ones are worth 12–25 % of the read
// bandwidth at one thread. Zero-filled by the system, pages taken when first written.
#pragma once

#include "kernels/kernel_error.h"

#include <cstddef>
#include <string>

namespace tokenscope::kernels {

class Arena {
public:
    Arena() = default;
    // OutOfMemory naming `what` and the bytes if the system refuses. 0 bytes: an empty arena.
    static KernelResult<Arena> allocate(std::size_t bytes, const std::string& what);

    Arena(Arena&& other) noexcept;
    Arena& operator=(Arena&& other) noexcept;
    ~Arena();

    std::byte* data() const { return m_data; }  // at least 4096-byte aligned
    std::size_t bytes() const { return m_bytes; }

private:
    std::byte* m_data = nullptr;
    std::size_t m_bytes = 0;
};

// Bytes an arena of `bytes` really maps.
std::size_t arenaBytes(std::size_t bytes);

}  // namespace tokenscope::kernels
