// The functions of VocabularyKernels in the compiler's vectors of kLanes floats. Included by vocabulary_*.cpp, which
// define kLanes (4, 8 or 16), selectChunk(), and gather(): four entries of each of kLanes / 4 chunks in one register.
#pragma once

#include "kernels/cpu/vocabulary.h"

#include <cstring>
#include <limits>

namespace tokenscope::kernels {
namespace {

using Floats = float __attribute__((vector_size(kLanes * sizeof(float))));
using Ints = std::int32_t __attribute__((vector_size(kLanes * sizeof(std::int32_t))));

constexpr int kFoldedSums = 4;    // of expSums: seeds keep their answers only while this order stays
constexpr int kPartialSums = 32;  // of the others: two registers of 16, so that an addition need not wait for the last
static_assert(kLogitChunk % kPartialSums == 0 && kPartialSums % kLanes == 0 && kLanes % kFoldedSums == 0);

inline Floats loadAt(const float* p)
{
    Floats v;
    std::memcpy(&v, p, sizeof v);
    return v;
}

inline Floats all(float value)
{
    return Floats{} + value;
}

// e^x for x ≤ 0, largest relative error 2e-7; 0 at and below −87. 2^(n + f) with a polynomial of degree 6 for 2^f on
// [−½, ½] (Taylor's, of e^(f ln 2)).
inline Floats expOf(Floats x)
{
    const Floats clamped = x > all(-87.0f) ? x : all(-87.0f);
    const Floats scaled = clamped * 1.44269504f;
    const Floats shift = all(12582912.0f);  // 1.5 · 2^23: adding it rounds to a whole number
    const Floats whole = (scaled + shift) - shift;
    // x − whole · ln 2 in two parts, so that nothing is lost.
    const Floats r = (clamped - whole * 0.693359375f) + whole * 2.12194440e-4f;
    Floats sum = r * (1.0f / 720.0f) + 1.0f / 120.0f;
    sum = sum * r + 1.0f / 24.0f;
    sum = sum * r + 1.0f / 6.0f;
    sum = sum * r + 0.5f;
    sum = sum * r + 1.0f;
    sum = sum * r + 1.0f;
    const Ints exponent = (__builtin_convertvector(whole, Ints) + 127) << 23;
    Floats power;
    std::memcpy(&power, &exponent, sizeof power);
    return x > all(-87.0f) ? sum * power : Floats{};
}

// Pairwise in double.
inline double folded(const Floats* sums)
{
    float lanes[kPartialSums];
    std::memcpy(lanes, sums, sizeof lanes);
    double doubles[kPartialSums];
    for (int i = 0; i < kPartialSums; ++i)
        doubles[i] = static_cast<double>(lanes[i]);
    for (int width = kPartialSums / 2; width > 0; width /= 2)
        for (int i = 0; i < width; ++i)
            doubles[i] += doubles[i + width];
    return doubles[0];
}

float largest(const float* chunk)
{
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    constexpr int kVectors = 4;
    Floats best[kVectors];
    Ints good = Ints{} - 1;
    for (Floats& b : best)
        b = all(-kInfinity);
    for (int i = 0; i < kLogitChunk; i += kVectors * kLanes)
#pragma GCC unroll 4
        for (int j = 0; j < kVectors; ++j) {
            const Floats v = loadAt(chunk + i + j * kLanes);
            good &= v < all(kInfinity);  // also false for NaN
            best[j] = v > best[j] ? v : best[j];
        }
    float result = -kInfinity;
    for (int lane = 0; lane < kLanes; ++lane) {
        if (good[lane] == 0)
            return std::numeric_limits<float>::quiet_NaN();
        for (const Floats& b : best)
            result = b[lane] > result ? b[lane] : result;
    }
    return result;
}

// A register holds kFoldedSums entries of each of kLanes / kFoldedSums chunks, so that every chunk has its own sums.
void expSums(const float* const* chunks, int count, float largest, float inverseTemperature, double* sums)
{
    constexpr int kTogether = kLanes / kFoldedSums;
    const Floats top = all(largest);
    for (int first = 0; first < count; first += kTogether) {
        const int present = count - first < kTogether ? count - first : kTogether;
        const float* from[kTogether];
        for (int c = 0; c < kTogether; ++c)
            from[c] = chunks[first + (c < present ? c : 0)];
        Floats partial{};
        for (int i = 0; i < kLogitChunk; i += kFoldedSums) {
            const Floats v = gather(from, i);
            partial += expOf((v - top) * inverseTemperature);
        }
        for (int c = 0; c < present; ++c) {
            double sum = 0.0;
            for (int lane = 0; lane < kFoldedSums; ++lane)
                sum += static_cast<double>(partial[c * kFoldedSums + lane]);
            sums[first + c] = sum;
        }
    }
}

double expWeights(const float* chunk, float largest, float inverseTemperature, float* weights)
{
    constexpr int kVectors = kPartialSums / kLanes;
    const Floats top = all(largest);
    Floats sums[kVectors] = {};
    for (int i = 0; i < kLogitChunk; i += kPartialSums)
#pragma GCC unroll 8
        for (int j = 0; j < kVectors; ++j) {
            const Floats weight = expOf((loadAt(chunk + i + j * kLanes) - top) * inverseTemperature);
            std::memcpy(weights + i + j * kLanes, &weight, sizeof weight);
            sums[j] += weight;
        }
    return folded(sums);
}

double sumAtLeast(const float* chunk, const float* weights, float low)
{
    constexpr int kVectors = kPartialSums / kLanes;
    const Floats bound = all(low);
    Floats sums[kVectors] = {};
    for (int i = 0; i < kLogitChunk; i += kPartialSums)
#pragma GCC unroll 8
        for (int j = 0; j < kVectors; ++j) {
            const int at = i + j * kLanes;
            sums[j] += loadAt(chunk + at) >= bound ? loadAt(weights + at) : Floats{};
        }
    return folded(sums);
}

constexpr VocabularyKernels kVocabularyKernels{largest, selectChunk, expSums, expWeights, sumAtLeast};

}  // namespace
}  // namespace tokenscope::kernels
