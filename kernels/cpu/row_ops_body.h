// The row operations of StepKernels, written once for every instruction set in terms of Vec.
#pragma once

#include "kernels/cpu/step_kernels.h"
#include "kernels/cpu/vec_math.h"

#include <cmath>

namespace tokenscope::kernels {
namespace {

// out[i] = op(x[i], y[i]); out may be x or y.
template <typename Op>
inline void zip(const float* x, const float* y, float* out, int n, Op op)
{
    int i = 0;
    for (; i + Vec::kLanes <= n; i += Vec::kLanes)
        Vec::store(out + i, op(Vec::load(x + i), Vec::load(y + i)));
    if (i < n)
        storePart(out + i, op(loadPart(x + i, n - i), loadPart(y + i, n - i)), n - i);
}

// Four running sums: one would wait for its own latency.
void rmsNorm(const float* x, const float* weight, float epsilon, int n, float* out)
{
    constexpr int w = Vec::kLanes;
    Reg sums[4] = {Vec::zero(), Vec::zero(), Vec::zero(), Vec::zero()};
    int i = 0;
    for (; i + 4 * w <= n; i += 4 * w)
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) {
            const Reg v = Vec::load(x + i + j * w);
            sums[j] = Vec::fma(v, v, sums[j]);
        }
    for (; i + w <= n; i += w) {
        const Reg v = Vec::load(x + i);
        sums[0] = Vec::fma(v, v, sums[0]);
    }
    if (i < n) {
        const Reg v = loadPart(x + i, n - i);
        sums[1] = Vec::fma(v, v, sums[1]);
    }
    const float squares = Vec::sum(Vec::add(Vec::add(sums[0], sums[1]), Vec::add(sums[2], sums[3])));
    const Reg scale = Vec::all(1.0f / std::sqrt(squares / static_cast<float>(n) + epsilon));
    zip(x, weight, out, n, [scale](Reg v, Reg g) { return Vec::mul(Vec::mul(v, scale), g); });
}

void add(float* x, const float* y, int n)
{
    zip(x, y, x, n, [](Reg a, Reg b) { return Vec::add(a, b); });
}

void scale(float* x, float factor, int n)
{
    const Reg f = Vec::all(factor);
    zip(x, x, x, n, [f](Reg a, Reg) { return Vec::mul(a, f); });
}

// silu(x) = x · sigmoid(x);  gelu(x) = ½x(1 + tanh(√(2/π)(x + 0.044715x³))) = x · sigmoid(2√(2/π)(x + 0.044715x³))
void gate(Activation kind, float* g, const float* up, int n)
{
    if (kind == Activation::Silu) {
        zip(g, up, g, n, [](Reg x, Reg u) { return Vec::mul(timesSigmoid(x, x), u); });
        return;
    }
    const Reg linear = Vec::all(1.5957691216057308f), cubic = Vec::all(1.5957691216057308f * 0.044715f);
    zip(g, up, g, n, [=](Reg x, Reg u) {
        const Reg z = Vec::mul(x, Vec::fma(Vec::mul(x, x), cubic, linear));
        return Vec::mul(timesSigmoid(x, z), u);
    });
}

void rotate(float* x, const float* cos, const float* sin, int dims, RopePairing pairing)
{
    constexpr int w = Vec::kLanes;
    if (pairing == RopePairing::Adjacent) {
        int i = 0;
        const auto turn = [](Reg v, Reg c, Reg s) { return Vec::fma(Vec::swapPairs(v), s, Vec::mul(v, c)); };
        for (; i + w <= dims; i += w)
            Vec::store(x + i, turn(Vec::load(x + i), Vec::load(cos + i), Vec::load(sin + i)));
        if (i < dims) {
            const int rest = dims - i;
            storePart(x + i, turn(loadPart(x + i, rest), loadPart(cos + i, rest), loadPart(sin + i, rest)), rest);
        }
        return;
    }
    const int half = dims / 2;
    for (int i = 0; i < half; i += w) {
        const int count = half - i < w ? half - i : w;
        const Reg a = loadPart(x + i, count), b = loadPart(x + half + i, count);
        const Reg c = loadPart(cos + i, count), s = loadPart(sin + half + i, count);
        storePart(x + i, Vec::fma(Vec::sub(Vec::zero(), b), s, Vec::mul(a, c)), count);
        storePart(x + half + i, Vec::fma(a, s, Vec::mul(b, c)), count);
    }
}

void softcap(float* x, float cap, int n)
{
    zip(x, x, x, n, [cap](Reg v, Reg) { return cappedAt(cap, v); });
}

bool allFinite(const float* x, int n)
{
    int i = 0;
    bool finite = true;
    for (; i + Vec::kLanes <= n; i += Vec::kLanes)
        finite &= Vec::allFinite(Vec::load(x + i));
    return finite && (i == n || Vec::allFinite(loadPart(x + i, n - i)));
}

float largest(const float* x, int n)
{
    constexpr int w = Vec::kLanes;
    float result = x[0];
    int i = 0;
    if (n >= 4 * w) {
        Reg best[4] = {Vec::load(x), Vec::load(x + w), Vec::load(x + 2 * w), Vec::load(x + 3 * w)};
        for (i = 4 * w; i + 4 * w <= n; i += 4 * w)
#pragma GCC unroll 4
            for (int j = 0; j < 4; ++j)
                best[j] = Vec::larger(Vec::load(x + i + j * w), best[j]);
        result = Vec::largest(Vec::larger(Vec::larger(best[0], best[1]), Vec::larger(best[2], best[3])));
    }
    for (; i < n; ++i)
        result = x[i] > result ? x[i] : result;
    return result;
}

void toHalf(const float* x, std::uint16_t* out, int n)
{
    int i = 0;
    for (; i + Vec::kLanes <= n; i += Vec::kLanes)
        Vec::storeHalf(out + i, Vec::load(x + i));
    if (i < n) {
        std::uint16_t buffer[Vec::kLanes];
        Vec::storeHalf(buffer, loadPart(x + i, n - i));
        std::memcpy(out + i, buffer, static_cast<unsigned>(n - i) * sizeof(std::uint16_t));
    }
}

// Quantised as the matrix kernels do: q = to nearest(x · 127 / max|x|), scale = max|x| / 127.
void quantizationRest(float* x, int n)
{
    constexpr int kBlock = 32;
    for (int block = 0; block < n; block += kBlock) {
        float* values = x + block;
        Reg largest = Vec::zero();
        for (int i = 0; i < kBlock; i += Vec::kLanes) {
            const Reg v = Vec::load(values + i);
            largest = Vec::larger(Vec::larger(v, Vec::sub(Vec::zero(), v)), largest);
        }
        const float top = Vec::largest(largest);
        if (!(top > 1e-36f))  // quantised to zeros: all of it is left over
            continue;
        const Reg inverse = Vec::all(127.0f / top), scaleBack = Vec::all(-top / 127.0f);
        for (int i = 0; i < kBlock; i += Vec::kLanes) {
            const Reg v = Vec::load(values + i);
            Vec::store(values + i, Vec::fma(Vec::nearest(Vec::mul(v, inverse)), scaleBack, v));
        }
    }
}

}  // namespace
}  // namespace tokenscope::kernels
