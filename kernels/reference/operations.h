// Every operation of a forward pass in its plainest correct form: f32 in and out, sums in f64 and in the order of the
// formula, so that a result depends on its own inputs alone. The formulas stand above the definitions.
#pragma once

#include "kernels/layer_program.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tokenscope::kernels {

void rmsNorm(std::span<float> out, std::span<const float> x, std::span<const float> weight, float epsilon);

// [dims / 2] angles per position step, base and scale and divisors included.
std::vector<double> ropeFrequencies(const RopeSpec& spec);
// Rotates the first 2 · frequencies.size() elements of one head in place.
void rope(std::span<float> head, RopePairing pairing, std::span<const double> frequencies, std::int64_t position);

// weights: [out.size(), x.size()].
void matvec(std::span<float> out, const float* weights, std::span<const float> x);

// x: [tokens, cols], out: [tokens, rows], weights: [rows, cols]. The same bits as matvec on each token. `scratch` holds
// matmulScratch(tokens, cols) doubles.
void matmul(float* out, const float* weights, int rows, int cols, const float* x, int tokens,
            std::span<double> scratch);
std::size_t matmulScratch(int tokens, int cols);

void add(std::span<float> x, std::span<const float> y);  // x ← x + y
void softmax(std::span<double> scores);

struct AttentionShape {
    int headDimK = 0;
    int headDimV = 0;
    float scale = 1.0f;
    float softcap = 0.0f;  // 0 = none
};
// One head of one query over the keys it may see. keys: [positions, headDimK], values: [positions, headDimV];
// positions = probabilities.size(), which is scratch. out: [headDimV].
void attention(std::span<float> out, const AttentionShape& shape, std::span<const float> query, const float* keys,
               const float* values, std::span<double> probabilities);

// First position a query at `position` may see; the last is its own.
std::int64_t firstVisible(std::int64_t position, int window);

float silu(float x);
float geluTanh(float x);
void gate(std::span<float> hidden, std::span<const float> up, Activation activation);  // hidden ← act(hidden) · up

void softcap(std::span<float> x, float limit);  // 0 = none

}  // namespace tokenscope::kernels
