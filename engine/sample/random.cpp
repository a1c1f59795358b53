#include "engine/sample/random.h"

namespace tokenscope {

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key)
{
    // Multipliers and Weyl constants of the paper (golden ratio, √3 − 1).
    constexpr std::uint64_t kMultiply0 = 0xD2511F53, kMultiply1 = 0xCD9E8D57;
    constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t product0 = kMultiply0 * counter[0];
        const std::uint64_t product1 = kMultiply1 * counter[2];
        counter = {
            static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(product1),
            static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(product0)};
        key[0] += kWeyl0;
        key[1] += kWeyl1;
    }
    return counter;
}

double uniformAt(std::uint64_t seed, std::uint32_t answer, std::uint32_t position, RandomPurpose purpose)
{
    const auto words = philox4x32({position, answer, static_cast<std::uint32_t>(purpose), 0},
                                  {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
    const std::uint64_t bits = (std::uint64_t{words[0]} << 32) | words[1];
    return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

}  // namespace tokenscope
