// Time comes in through here, so that tests can make it stand still.
#pragma once

#include <cstdint>

namespace tokenscope {

using Nanoseconds = std::int64_t;  // of CLOCK_MONOTONIC unless the name says wall

class Clock {
public:
    virtual ~Clock() = default;
    virtual Nanoseconds now() const = 0;      // monotonic; thread-safe
    virtual std::int64_t wallMs() const = 0;  // Unix time in milliseconds; thread-safe
};

// The machine's clock; lives as long as the program.
const Clock& systemClock();

}  // namespace tokenscope
