// Random text for property tests: scripts, spaces, marks, emoji, rare planes; the same for the same seed everywhere.
#pragma once

#include <cstdint>
#include <random>
#include <string>

namespace tokenscope::test {

inline std::uint32_t below(std::mt19937& random, std::uint32_t limit)
{
    return static_cast<std::uint32_t>(random() % limit);  // std distributions differ between libraries
}

std::string randomUtf8(std::mt19937& random, int characters);

}  // namespace tokenscope::test
