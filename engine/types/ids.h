#pragma once

#include <cstdint>

namespace tokenscope {

using TokenId = std::int32_t;
using RequestId = std::uint64_t;  // unique within one engine, never re-used; 0 = none

}  // namespace tokenscope
