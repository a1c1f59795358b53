// Counts what this thread asks the heap for, and makes allocations of other threads fail. Linking it replaces operator
// new in the whole test program.
#pragma once

#include <cstdint>

namespace tokenscope::test {

// Sum of all requests of this thread since it began; what was given back is not taken off, so that a difference is an
// upper bound for what was held at any time between.
std::uint64_t requestedHeapBytes();

// Of all threads but the one that made it: `allowed` allocations succeed, the next throws bad_alloc, those after it
// succeed again. One at a time.
class FailingAllocation {
public:
    explicit FailingAllocation(std::int64_t allowed);
    ~FailingAllocation();
    FailingAllocation(const FailingAllocation&) = delete;
    FailingAllocation& operator=(const FailingAllocation&) = delete;

    bool hasFailed() const;
};

}  // namespace tokenscope::test
