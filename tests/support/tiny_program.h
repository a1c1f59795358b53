// A layer program with random weights that owns its bytes: small enough for every kernel test to compute in
// milliseconds, with every property a real architecture has.
#pragma once

#include "kernels/layer_program.h"

#include <cstdint>
#include <deque>
#include <random>
#include <vector>

namespace tokenscope::test {

struct TinyShape {
    int layers = 2;
    int embedding = 64;
    int feedForward = 96;
    int heads = 4;
    int kvHeads = 2;
    int headDimK = 16;
    int headDimV = 16;
    int vocabulary = 50;
    int window = 0;  // of the even layers
    bool tiedHead = true;
    bool headNorms = false;  // q and k norms
    bool postNorms = false;
    bool biases = false;
    float attentionSoftcap = 0.0f;
    float finalSoftcap = 0.0f;
    kernels::RopePairing pairing = kernels::RopePairing::Adjacent;
    kernels::Activation activation = kernels::Activation::Silu;
};

class TinyProgram {
public:
    explicit TinyProgram(const TinyShape& shape, std::uint32_t seed = 1);

    kernels::LayerProgram program;
    // The f32 values behind a view of `program`, to be changed by a test.
    float* values(const kernels::TensorView& view);

private:
    kernels::TensorView matrix(int rows, int cols, float spread, float middle = 0.0f);

    std::mt19937 m_random;
    std::deque<std::vector<float>> m_storage;
};

}  // namespace tokenscope::test
