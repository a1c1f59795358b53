#include "tests/support/allocation_meter.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

thread_local std::uint64_t requested = 0;

std::atomic<std::int64_t> allowedBeforeFailure{-1};  // negative: none fails
thread_local bool isExempt = false;

bool failsNow()
{
    return allowedBeforeFailure.load(std::memory_order_relaxed) >= 0 && !isExempt &&
           allowedBeforeFailure.fetch_sub(1) == 0;
}

}  // namespace

std::uint64_t tokenscope::test::requestedHeapBytes()
{
    return requested;
}

tokenscope::test::FailingAllocation::FailingAllocation(std::int64_t allowed)
{
    isExempt = true;
    allowedBeforeFailure = allowed;
}

tokenscope::test::FailingAllocation::~FailingAllocation()
{
    allowedBeforeFailure = -1;
    isExempt = false;
}

bool tokenscope::test::FailingAllocation::hasFailed() const
{
    return allowedBeforeFailure < 0;
}

// All forms but the aligned ones: a sanitizer brings its own of each, and freeing across the two is an error to it.
void* operator new(std::size_t byteCount)
{
    if (void* memory = operator new(byteCount, std::nothrow))
        return memory;
    throw std::bad_alloc();
}

void* operator new(std::size_t byteCount, const std::nothrow_t&) noexcept
{
    requested += byteCount;
    if (failsNow())
        return nullptr;
    return std::malloc(byteCount > 0 ? byteCount : 1);
}

void* operator new[](std::size_t byteCount)
{
    return operator new(byteCount);
}

void* operator new[](std::size_t byteCount, const std::nothrow_t&) noexcept
{
    return operator new(byteCount, std::nothrow);
}

void operator delete(void* memory) noexcept
{
    std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept
{
    std::free(memory);
}

void operator delete(void* memory, const std::nothrow_t&) noexcept
{
    std::free(memory);
}

void operator delete[](void* memory) noexcept
{
    std::free(memory);
}

void operator delete[](void* memory, std::size_t) noexcept
{
    std::free(memory);
}

void operator delete[](void* memory, const std::nothrow_t&) noexcept
{
    std::free(memory);
}
