// Angles of rotary position embedding (Su et al., RoFormer, 2021): element pair i of a head turns by
// theta_i = position · scale · base^(−2i/dims) / divisors[i]. Computed in f64 from whole positions: in f32 the angle
// itself loses digits at long contexts. One table a step, shared by all heads and by all layers with the same spec.
#pragma once

#include "kernels/layer_program.h"

#include <vector>

namespace tokenscope::kernels {

class RopeTable {
public:
    explicit RopeTable(const RopeSpec& spec);

    int dims() const { return m_dims; }
    RopePairing pairing() const { return m_pairing; }
    bool isFor(const RopeSpec& spec) const;

    // Pairs [begin, end) of the dims/2 pairs of one position. cos and sin are [dims], an entry for every element, with
    // the sign of the turn in sin: x[i] ← x[i] · cos[i] + partner · sin[i].
    void fill(int position, int pairBegin, int pairEnd, float* cos, float* sin) const;

private:
    RopeSpec m_spec;
    RopePairing m_pairing;
    int m_dims;
    std::vector<double> m_frequencies;  // [dims / 2], radians a position
};

}  // namespace tokenscope::kernels
