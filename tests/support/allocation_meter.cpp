#include "tests/support/allocation_meter.h"

#include <cstdlib>
#include <new>

namespace {

thread_local std::uint64_t requested = 0;

}  // namespace

std::uint64_t tokenscope::test::requestedHeapBytes()
{
    return requested;
}

// The array and nothrow forms of the standard library call these.
void* operator new(std::size_t byteCount)
{
    requested += byteCount;
    if (void* memory = std::malloc(byteCount > 0 ? byteCount : 1))
        return memory;
    throw std::bad_alloc();
}

void operator delete(void* memory) noexcept
{
    std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept
{
    std::free(memory);
}
