#include "kernels/reference/operations.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstring>
#include <numbers>

namespace tokenscope::kernels {
namespace {

// Rows and tokens computed together: independent sums that keep the processor busy without changing the order inside
// any of them. 4 × 4 doubles are 8 of the 16 registers of the baseline.
constexpr int kTile = 4;

double cappedScore(double score, double limit)
{
    return limit > 0.0 ? limit * std::tanh(score / limit) : score;
}

// x of kTile tokens as doubles, [cols][kTile]; tokens that are not there are zero.
void interleave(double* out, const float* x, int cols, int tokens)
{
    for (int k = 0; k < cols; ++k)
        for (int t = 0; t < kTile; ++t)
            out[k * kTile + t] = t < tokens ? x[t * cols + k] : 0.0;
}

// Two doubles in one register of the baseline. The compiler's own, so that it is the same on every machine.
using Pair [[gnu::vector_size(16)]] = double;

// kTile rows by kTile tokens; products of two f32 are exact in f64.
void tile(double (&sums)[kTile][kTile], const float* weights, int cols, const double* x)
{
    Pair s[kTile][kTile / 2] = {};
    for (int k = 0; k < cols; ++k) {
        const double* const t4 = x + k * kTile;
        const Pair xk[kTile / 2] = {{t4[0], t4[1]}, {t4[2], t4[3]}};
        for (int r = 0; r < kTile; ++r) {
            const double w = weights[r * cols + k];
            for (int t = 0; t < kTile / 2; ++t)
                s[r][t] += Pair{w, w} * xk[t];
        }
    }
    std::memcpy(sums, s, sizeof s);
}

// store(r, Σ_k rows[r, k] · x[k]) for each row, eight sums at a time, each in the order of k.
template <typename Store>
void dots(const float* rows, std::size_t count, std::span<const float> x, Store store)
{
    constexpr std::size_t kRows = 8;
    const std::size_t cols = x.size();
    std::size_t r = 0;
    for (; r + kRows <= count; r += kRows) {
        const float* const w = rows + r * cols;
        std::array<double, kRows> sums{};
        for (std::size_t k = 0; k < cols; ++k)
            for (std::size_t i = 0; i < kRows; ++i)
                sums[i] += double{w[i * cols + k]} * x[k];
        for (std::size_t i = 0; i < kRows; ++i)
            store(r + i, sums[i]);
    }
    for (; r < count; ++r) {
        double sum = 0.0;
        for (std::size_t k = 0; k < cols; ++k)
            sum += double{rows[r * cols + k]} * x[k];
        store(r, sum);
    }
}

}  // namespace

// out[i] = x[i] / rms(x) · weight[i],   rms(x) = √(mean(x²) + epsilon)
void rmsNorm(std::span<float> out, std::span<const float> x, std::span<const float> weight, float epsilon)
{
    assert(out.size() == x.size() && weight.size() == x.size());
    double sumOfSquares = 0.0;
    for (const float v : x)
        sumOfSquares += double{v} * v;

    const double scale = 1.0 / std::sqrt(sumOfSquares / static_cast<double>(x.size()) + double{epsilon});
    for (std::size_t i = 0; i < x.size(); ++i)
        out[i] = static_cast<float>(x[i] * scale * weight[i]);
}

// frequency[i] = scale · base^(−2i / dims) / divisors[i]
std::vector<double> ropeFrequencies(const RopeSpec& spec)
{
    const int half = spec.dims / 2;
    assert(spec.divisors.empty() || static_cast<int>(spec.divisors.size()) == half);
    std::vector<double> frequencies;
    for (int i = 0; i < half; ++i) {
        const double power = std::pow(double{spec.base}, -2.0 * i / spec.dims);
        const double divisor = spec.divisors.empty() ? 1.0 : spec.divisors[static_cast<std::size_t>(i)];
        frequencies.push_back(spec.scale * power / divisor);
    }
    return frequencies;
}

// (a, b) ← (a cos θ − b sin θ, a sin θ + b cos θ),   θ = position · frequency[i];
// (a, b) = (x[2i], x[2i + 1]) adjacent, (x[i], x[i + dims/2]) half-split. Elements from dims on stay.
void rope(std::span<float> head, RopePairing pairing, std::span<const double> frequencies, std::int64_t position)
{
    const std::size_t half = frequencies.size();
    assert(2 * half <= head.size());
    for (std::size_t i = 0; i < half; ++i) {
        const double angle = static_cast<double>(position) * frequencies[i];
        const double c = std::cos(angle);
        const double s = std::sin(angle);
        float& first = pairing == RopePairing::Adjacent ? head[2 * i] : head[i];
        float& second = pairing == RopePairing::Adjacent ? head[2 * i + 1] : head[i + half];
        const double a = first;
        const double b = second;
        first = static_cast<float>(a * c - b * s);
        second = static_cast<float>(a * s + b * c);
    }
}

// out[r] = Σ_k weights[r, k] · x[k]
void matvec(std::span<float> out, const float* weights, std::span<const float> x)
{
    dots(weights, out.size(), x, [&](std::size_t r, double sum) { out[r] = static_cast<float>(sum); });
}

std::size_t matmulScratch(int tokens, int cols)
{
    return static_cast<std::size_t>((tokens + kTile - 1) / kTile * kTile) * static_cast<std::size_t>(cols);
}

// out[t, r] = Σ_k weights[r, k] · x[t, k]
void matmul(float* out, const float* weights, int rows, int cols, const float* x, int tokens, std::span<double> scratch)
{
    assert(scratch.size() >= matmulScratch(tokens, cols));
    const auto row = [](auto* base, int index, int width) { return base + static_cast<std::ptrdiff_t>(index) * width; };
    if (tokens == 1) {
        matvec({out, static_cast<std::size_t>(rows)}, weights, {x, static_cast<std::size_t>(cols)});
        return;
    }
    for (int t = 0; t < tokens; t += kTile)
        interleave(row(scratch.data(), t, cols), row(x, t, cols), cols, std::min(kTile, tokens - t));

    const int tiledRows = rows / kTile * kTile;
    for (int r = 0; r < tiledRows; r += kTile)
        for (int t = 0; t < tokens; t += kTile) {
            double sums[kTile][kTile];
            tile(sums, row(weights, r, cols), cols, row(scratch.data(), t, cols));
            for (int j = 0; j < std::min(kTile, tokens - t); ++j)
                for (int i = 0; i < kTile; ++i)
                    row(out, t + j, rows)[r + i] = static_cast<float>(sums[i][j]);
        }
    if (tiledRows < rows)
        for (int t = 0; t < tokens; ++t)
            matvec({row(out, t, rows) + tiledRows, static_cast<std::size_t>(rows - tiledRows)},
                   row(weights, tiledRows, cols), {row(x, t, cols), static_cast<std::size_t>(cols)});
}

void add(std::span<float> x, std::span<const float> y)
{
    assert(x.size() == y.size());
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] += y[i];
}

// p[i] = exp(s[i] − max s) / Σ_j exp(s[j] − max s)
void softmax(std::span<double> scores)
{
    if (scores.empty())
        return;
    const double largest = *std::max_element(scores.begin(), scores.end());
    double sum = 0.0;
    for (double& s : scores) {
        s = std::exp(s - largest);
        sum += s;
    }
    for (double& s : scores)
        s /= sum;
}

// s[p] = scale · Σ_d query[d] · keys[p, d],   s ← c · tanh(s / c) with a softcap c,
// out[d] = Σ_p softmax(s)[p] · values[p, d]
void attention(std::span<float> out, const AttentionShape& shape, std::span<const float> query, const float* keys,
               const float* values, std::span<double> probabilities)
{
    const auto dimK = static_cast<std::size_t>(shape.headDimK);
    const auto dimV = static_cast<std::size_t>(shape.headDimV);
    assert(query.size() == dimK && out.size() == dimV);
    dots(keys, probabilities.size(), query,
         [&](std::size_t p, double sum) { probabilities[p] = cappedScore(shape.scale * sum, shape.softcap); });
    softmax(probabilities);

    constexpr std::size_t kSlice = 64;  // elements of a head summed at once, on the stack
    for (std::size_t begin = 0; begin < dimV; begin += kSlice) {
        const std::size_t width = std::min(kSlice, dimV - begin);
        std::array<double, kSlice> sums{};
        for (std::size_t p = 0; p < probabilities.size(); ++p) {
            const float* const v = values + p * dimV + begin;
            for (std::size_t d = 0; d < width; ++d)
                sums[d] += probabilities[p] * v[d];
        }
        for (std::size_t d = 0; d < width; ++d)
            out[begin + d] = static_cast<float>(sums[d]);
    }
}

// A query at p sees keys at positions q with q ≤ p and, with a window w, q > p − w.
std::int64_t firstVisible(std::int64_t position, int window)
{
    return window > 0 ? std::max<std::int64_t>(0, position - window + 1) : 0;
}

// silu(x) = x / (1 + e^−x)
float silu(float x)
{
    return static_cast<float>(x / (1.0 + std::exp(-double{x})));
}

// gelu(x) ≈ x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³)))
float geluTanh(float x)
{
    const double v = x;
    const double inner = std::sqrt(2.0 * std::numbers::inv_pi) * (v + 0.044715 * v * v * v);
    return static_cast<float>(0.5 * v * (1.0 + std::tanh(inner)));
}

// hidden[i] ← activation(hidden[i]) · up[i]
void gate(std::span<float> hidden, std::span<const float> up, Activation activation)
{
    assert(hidden.size() == up.size());
    for (std::size_t i = 0; i < hidden.size(); ++i)
        hidden[i] = (activation == Activation::Silu ? silu(hidden[i]) : geluTanh(hidden[i])) * up[i];
}

// x ← limit · tanh(x / limit)
void softcap(std::span<float> x, float limit)
{
    if (limit > 0.0f)
        for (float& v : x)
            v = static_cast<float>(cappedScore(v, limit));
}

}  // namespace tokenscope::kernels
