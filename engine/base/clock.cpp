#include "engine/base/clock.h"

#include <chrono>

namespace tokenscope {
namespace {

class SystemClock final : public Clock {
public:
    Nanoseconds now() const override
    {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
            .count();
    }
    std::int64_t wallMs() const override
    {
        return std::chrono::duration_cast<std::chrono::milliseconds>(
                   std::chrono::system_clock::now().time_since_epoch())
            .count();
    }
};

}  // namespace

const Clock& systemClock()
{
    static const SystemClock clock;
    return clock;
}

}  // namespace tokenscope
