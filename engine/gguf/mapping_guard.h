// Keeps the process alive when a page of a mapped file cannot be read: a file that was cut short meanwhile, or a disk
// that fails. The system says so with SIGBUS; the guard puts a page of zeros there and remembers it, so that the reader
// goes on and checkUnchanged() tells the truth afterwards.
#pragma once

#include <cstddef>

namespace tokenscope {

class MappingGuard {
public:
    MappingGuard() = default;
    // The range is a mapping that outlives the guard. Any thread may read it. The first guard of the process installs
    // the signal handler, which passes on every fault outside guarded ranges.
    MappingGuard(const std::byte* begin, std::size_t byteCount);
    ~MappingGuard();
    MappingGuard(MappingGuard&& other) noexcept;
    MappingGuard& operator=(MappingGuard&& other) noexcept;

    // A page of it had to be replaced by zeros.
    bool wasHit() const;

private:
    int m_slot = -1;  // none where too many mappings are open at once: then it is not guarded
};

}  // namespace tokenscope
