// Random numbers that depend on nothing but their key: Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random
// numbers: as easy as 1, 2, 3", SC 2011, section 3.3). The n-th token of an answer gets the same number whatever else
// runs, in whatever order, so a seed means the same text every time.
#pragma once

#include <array>
#include <cstdint>

namespace tokenscope {

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

// What a number is drawn for; each purpose has a stream of its own, so that a later one does not shift the first.
enum class RandomPurpose : std::uint32_t { Token = 0 };

// Uniform in [0, 1), a multiple of 2^-53.
// `answer`: of several to one request; `position`: of the drawn token in its sequence, prompt included.
double uniformAt(std::uint64_t seed, std::uint32_t answer, std::uint32_t position, RandomPurpose purpose);

}  // namespace tokenscope
