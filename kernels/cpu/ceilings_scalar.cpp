// What the compiler makes of plain C++ for the baseline: the ceiling of the scalar kernels, which are that too.
#include "kernels/cpu/ceilings_kernels.h"

#include <cstring>

namespace tokenscope::kernels {
namespace {

// Tells the compiler that memory may have changed: what it computed a round ago cannot be re-used.
void forget(const void* data)
{
    asm volatile("" : : "r"(data) : "memory");
}

std::uint64_t read(const std::byte* data, std::size_t bytes)
{
    std::uint64_t sums[8] = {};
    for (std::size_t at = 0; at < bytes; at += sizeof sums) {
        std::uint64_t words[8];
        std::memcpy(words, data + at, sizeof words);
#pragma GCC unroll 8
        for (int i = 0; i < 8; ++i)
            sums[i] |= words[i];
    }
    std::uint64_t all = 0;
    for (const std::uint64_t sum : sums)
        all |= sum;
    return all;
}

constexpr int kElements = 256;

std::uint64_t multiplyInt8(int rounds)
{
    std::int8_t x[kElements];
    std::int8_t y[kElements];
    std::memset(x, 3, sizeof x);
    std::memset(y, 5, sizeof y);
    std::int32_t sum = 0;
    for (int round = 0; round < rounds; ++round) {
        forget(x);
        forget(y);
        std::int32_t dot = 0;
        for (int i = 0; i < kElements; ++i)
            dot += x[i] * y[i];
        sum ^= dot;
    }
    return static_cast<std::uint64_t>(sum);
}

// Sixteen sums that do not wait for each other; x/2 + 1 stays near 2, away from slow denormals.
std::uint64_t multiplyF32(int rounds)
{
    constexpr int kSums = 16;
    float half = 0.5f;
    forget(&half);
    // Different beginnings, or the compiler sees that all sums are the same and keeps one.
    float sums[kSums] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const int steps = rounds * (kElements / kSums);
    for (int step = 0; step < steps; ++step)
#pragma GCC unroll 16
        for (float& sum : sums)
            sum = sum * half + 1.0f;
    float all = 0.0f;
    for (const float sum : sums)
        all += sum;
    return static_cast<std::uint64_t>(all);
}

}  // namespace

const CeilingKernels kCeilingsScalar{read, multiplyInt8, multiplyF32, kElements, kElements};

}  // namespace tokenscope::kernels
