// What the speed of this build is held to, relative to what the machine it runs on shows in the same process, so that
// the numbers mean the same on any machine. One table; the reason stands beside each number. guard_bench judges by it.
#pragma once

#include <string_view>

namespace tokenscope::bench {

enum class Bound { AtLeast, AtMost };

struct Guard {
    const char* pattern;  // of benchmark names, as the shell's: the first that fits decides
    Bound bound;
    double limit;
    const char* reason;
};

// nullptr: no guard has such a name.
const Guard* guardFor(std::string_view benchmark);

inline bool holds(const Guard& guard, double value)
{
    return guard.bound == Bound::AtLeast ? value >= guard.limit : value <= guard.limit;
}

}  // namespace tokenscope::bench
