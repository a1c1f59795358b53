// Random tensors of any format: blocks whose scales are finite and such that the elements have about the wanted spread.
// The same seed gives the same bytes everywhere.
#pragma once

#include "kernels/dtype.h"

#include <cstdint>
#include <iosfwd>
#include <string>

namespace tokenscope::test {

// Small and fast, and the same on every machine (SplitMix64, Steele, Lea and Flood 2014).
class RandomBits {
public:
    explicit RandomBits(std::uint64_t seed) : m_state(seed) {}

    std::uint64_t next()
    {
        std::uint64_t z = (m_state += 0x9E3779B97F4A7C15u);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        return z ^ (z >> 31);
    }
    // Evenly from −1 to 1.
    double symmetric() { return static_cast<double>(next() >> 11) * 0x1.0p-52 - 1.0; }
    std::uint64_t below(std::uint64_t limit) { return next() % limit; }

private:
    std::uint64_t m_state;
};

// `elements` is a multiple of the format's block. `spread`: root mean square of the elements, roughly.
std::string randomTensor(kernels::DType type, std::uint64_t elements, double spread, std::uint64_t seed);
void writeRandomTensor(std::ostream& out, kernels::DType type, std::uint64_t elements, double spread,
                       std::uint64_t seed);

// F32: centre · (1 ± variation); for norm weights and biases.
std::string randomVector(std::uint64_t elements, double centre, double variation, std::uint64_t seed);

}  // namespace tokenscope::test
