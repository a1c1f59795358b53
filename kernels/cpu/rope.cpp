#include "kernels/cpu/rope.h"

#include <cmath>

namespace tokenscope::kernels {

RopeTable::RopeTable(const RopeSpec& spec) : m_spec(spec), m_pairing(spec.pairing), m_dims(spec.dims)
{
    for (int i = 0; i < m_dims / 2; ++i) {
        double frequency = double{spec.scale} * std::pow(double{spec.base}, -2.0 * i / m_dims);
        if (!spec.divisors.empty())
            frequency /= double{spec.divisors[static_cast<std::size_t>(i)]};
        m_frequencies.push_back(frequency);
    }
}

bool RopeTable::isFor(const RopeSpec& spec) const
{
    return spec.pairing == m_spec.pairing && spec.dims == m_spec.dims && spec.base == m_spec.base &&
           spec.scale == m_spec.scale && spec.divisors == m_spec.divisors;
}

void RopeTable::fill(int position, int pairBegin, int pairEnd, float* cos, float* sin) const
{
    const int half = m_dims / 2;
    for (int i = pairBegin; i < pairEnd; ++i) {
        const double angle = position * m_frequencies[static_cast<std::size_t>(i)];
        const auto c = static_cast<float>(std::cos(angle));
        const auto s = static_cast<float>(std::sin(angle));
        const int first = m_pairing == RopePairing::Adjacent ? 2 * i : i;
        const int second = m_pairing == RopePairing::Adjacent ? 2 * i + 1 : i + half;
        cos[first] = c;
        cos[second] = c;
        sin[first] = -s;
        sin[second] = s;
    }
}

}  // namespace tokenscope::kernels
