// Counts what this thread asks the heap for. Linking it replaces operator new in the whole test program.
#pragma once

#include <cstdint>

namespace tokenscope::test {

// Sum of all requests of this thread since it began; what was given back is not taken off, so that a difference is an
// upper bound for what was held at any time between.
std::uint64_t requestedHeapBytes();

}  // namespace tokenscope::test
