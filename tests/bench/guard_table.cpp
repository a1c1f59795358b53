#include "tests/bench/guard_table.h"

#include <string>

#include <fnmatch.h>

namespace tokenscope::bench {
namespace {

// matmul/ISA/FORMAT/ROWS: products per second of one thread over the peak of its multiply-adds: 8-bit dot products with
// AVX-512 (VNNI), f32 multiply-adds with AVX2 (which has no dot product) and for the float formats of both. One row
// pays for reading and unpacking the weights alone, more rows share it, hence two lines a format. Step guards are of a
// model in SmolLM2-135M's shape. "Measured" is the least found on two cores of a Zen 4; limits are some 20 % below,
// which is what a cloud machine's neighbours have been seen to take even from the best of many tries.
constexpr Guard kGuards[] = {
    {"matmul/avx2/Q4_*/1", Bound::AtLeast, 0.75, "measured 0.92; above a core's share of memory, so reading decides"},
    {"matmul/avx2/Q4_*", Bound::AtLeast, 1.40, "measured 1.65; 8-bit pairs with 16-bit sums do 2 x the f32 products"},
    {"matmul/avx2/Q5_*/1", Bound::AtLeast, 0.50, "measured 0.65; the bit plane doubles the unpacking"},
    {"matmul/avx2/Q5_*", Bound::AtLeast, 1.10, "measured 1.36; 5 bits fill 16-bit sums after 4 steps, not 8"},
    {"matmul/avx2/Q8_0/1", Bound::AtLeast, 0.65, "measured 0.83; signed bytes need a sign transfer"},
    {"matmul/avx2/Q8_0/*", Bound::AtLeast, 0.80, "measured 1.00; the sign transfer is paid for every row of x"},
    {"matmul/avx2/Q[236]_K/1", Bound::AtLeast, 0.50, "measured 0.64; scales of 16 weights, two bit planes"},
    {"matmul/avx2/Q[236]_K/*", Bound::AtLeast, 0.75, "measured 0.97; a scale multiplied in every 16 weights"},
    {"matmul/avx2/*F*/1", Bound::AtLeast, 0.30, "measured 0.40; f32 weights come from the second-level cache"},
    {"matmul/avx2/*F*", Bound::AtLeast, 0.45, "measured 0.59; 16 registers hold a small tile only"},

    {"matmul/avx512/Q4_*/1", Bound::AtLeast, 0.33, "measured 0.42; unpacking of one row, still above its memory share"},
    {"matmul/avx512/Q4_*", Bound::AtLeast, 0.55, "measured 0.66; scaling shares the two pipes with the products"},
    {"matmul/avx512/Q5_*/1", Bound::AtLeast, 0.22, "measured 0.29; the bit plane doubles the unpacking"},
    {"matmul/avx512/Q5_*", Bound::AtLeast, 0.48, "measured 0.60; the bit plane, shared by the rows of a tile"},
    {"matmul/avx512/Q8_0/1", Bound::AtLeast, 0.28,
     "measured 0.37; twice the bytes of 4 bit from the second-level cache"},
    {"matmul/avx512/Q8_0/*", Bound::AtLeast, 0.60,
     "measured 0.75; nothing to unpack, the offset is in the start value"},
    {"matmul/avx512/Q[236]_K/1", Bound::AtLeast, 0.20, "measured 0.26; scales of 16 weights, two bit planes"},
    {"matmul/avx512/Q[236]_K/*", Bound::AtLeast, 0.32, "measured 0.41; a scale multiplied in every 16 weights"},
    {"matmul/avx512/*F*/1", Bound::AtLeast, 0.30, "measured 0.40; f32 weights come from the second-level cache"},
    {"matmul/avx512/*F*", Bound::AtLeast, 0.75, "measured 0.93; 32 registers hold a whole tile"},

    {"attention/avx*", Bound::AtLeast, 0.60,
     "measured 0.76; the exponential takes the rest, half of the peak is ordinary"},

    {"step/avx*/decode-bytes", Bound::AtLeast, 0.75, "measured 0.89 (AVX2), 1.04 (part stays in a 32 MB cache)"},
    {"step/avx512/4-rows-over-1", Bound::AtMost, 1.40, "measured 1.16; the goal: drafts are only worth it if cheap"},
    {"step/avx2/4-rows-over-1", Bound::AtMost, 1.60,
     "measured 1.46; the goal: four rows compute longer than they read"},
    {"step/avx512/32-sequences-over-1", Bound::AtLeast, 4.00,
     "measured 5.1; the bound is compute: 32 x 2.9 ms / 9.5 ms"},
    {"step/avx2/32-sequences-over-1", Bound::AtLeast, 2.70, "measured 3.4; half the products a second of AVX-512"},
    {"step/avx512/context-4096-over-0", Bound::AtLeast, 0.30,
     "measured 0.39; the cache doubles the bytes: 0.5 at most"},
    {"step/avx2/context-4096-over-0", Bound::AtLeast, 0.27, "measured 0.34; the cache doubles the bytes: 0.5 at most"},

    // No such machine was at hand: only that it computes, and that rows of a step share their weights at all.
    {"step/neon/4-rows-over-1", Bound::AtMost, 4.00, "not measured; four steps of one row would cost as much"},
    {"step/neon/32-sequences-over-1", Bound::AtLeast, 1.00, "not measured; one sequence after the other reaches this"},
    {"*/neon*", Bound::AtLeast, 0.00, "not measured yet"},
};

}  // namespace

const Guard* guardFor(std::string_view benchmark)
{
    const std::string name(benchmark);
    for (const Guard& guard : kGuards) {
        if (::fnmatch(guard.pattern, name.c_str(), 0) == 0)
            return &guard;
    }
    return nullptr;
}

}  // namespace tokenscope::bench
