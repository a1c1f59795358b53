// The packed layout of weights and the layout of quantised activations, byte by byte. Private to the matmul files.
// Only constants live here: the files compiled for one instruction set include it, and an inline function compiled
// there could be the copy the linker keeps for an old processor.
//
// Weights. A matrix is a sequence of groups of 16 rows, each `groupBytes` long and 64-byte aligned; missing rows of the
// last group are zeros. A quantised group is a scale plane followed, at the next multiple of 64, by a code plane.
// Planes rather than blocks with their scales in front, so that every 64-byte code vector is aligned: a Q8_0 block of
// 32 + 512 bytes would split each of its loads over two cache lines.
//
// Code plane, per block of 32 columns. Codes are unsigned; the value is (code − offset) · scale − minimum. In vector j
// (0 … 7) byte i is row i / 4, column 4 j + i mod 4, so that one 32-bit lane is one row and one dot-product
// instruction multiplies four columns of 16 rows by one broadcast of four activations. AVX2 reads the halves of a
// vector, 8 rows each, NEON its quarters.
//   8 bits:  vectors 0 … 7 as they are (512 bytes)
//   4 bits:  4 vectors; the low nibbles of vector v are codes j = v, the high ones j = v + 4 (256 bytes)
//   2 bits:  2 vectors; bits 2 (j mod 4) … + 1 of vector j / 4 (128 bytes)
//   5 bits:  as 4 bits, then one vector whose bit j is bit 4 of code j (64 bytes)
//   3 bits:  as 2 bits, then one vector whose bit j is bit 2 of code j (64 bytes)
//   6 bits:  as 4 bits, then as 2 bits the bits 4 and 5 (128 bytes)
// Scale plane: see ScaleKind. All products of scales (f16 × at most 8 bits) are exact in f32.
//
// Bits per weight: Q4_0 4.5, Q4_1 5, Q5_0 5.5, Q5_1 6, Q8_0 8.5 and Q6_K 6.5625 as in the file; Q2_K 2.625 too;
// Q3_K 3.5625, Q4_K 4.625, Q5_K 5.625: an eighth of a bit more than the file, because 6-bit scales take a byte.
//
// F16, BF16 and F32 groups are panels without scales: column k is 16 consecutive values, one a row.
//
// Activations. Rows come in tiles of kTileRows; the last tile has what remains (T rows). Tile i starts at
// i · kTileRows · (cols / 32) ActivationBlocks; in it, block b of row t is number b · T + t: a kernel that goes through
// the blocks for all rows of a tile reads memory in one direction. Behind the blocks of all rows, at the next multiple
// of 64, lie the f32 tiles in the same manner: value k of row t is number k · T + t.
#pragma once

#include "kernels/dtype.h"

#include <cstdint>

namespace tokenscope::kernels::layout {

constexpr int kBlock = 32;       // columns that share an activation scale
constexpr int kSuperBlocks = 8;  // blocks in a k-quant's 256 columns
constexpr int kRows = 16;        // rows of a group (kGroupRows)
constexpr int kCodeVectors = 8;  // 64-byte vectors of unpacked codes in a block
constexpr int kVectorBytes = 64;
// Rows of x in an activation tile: the unit threads share quantising in, and at 576 columns 14 KB, which leaves room
// in 32 KB of L1 for the group of weights that passes through.
constexpr int kTileRows = 16;

struct ActivationBlock {
    std::int8_t q[kBlock];    // round-to-nearest-even(x · 127 / max|x|)
    float scale;              // max|x| / 127
    float scaledSum;          // scale · Σq, for formats with minima
    std::int32_t negSum;      // −Σq; shifted left by log2(offset) it starts the integer sum, so offsets are exact
    std::int32_t negHalfSum;  // −Σq over the first 16, for formats with a scale per 16
};
static_assert(sizeof(ActivationBlock) == 48);

// A scale plane has, for each block or each 256 columns:
enum class ScaleKind {
    Half,       // per block: 16 f16 scales
    HalfMin,    // per block: 16 f16 scales, 16 f16 added minima (the value is code · scale + minimum)
    SuperMin,   // per 256: 16 f16 d, 16 f16 dmin; per block then 16 u8 scales, 16 u8 minima: d · scale, dmin · minimum
    SuperPair,  // per 256: 16 f16 d; per block then 16 i8 scales of the first 16 columns, 16 i8 of the second
    SuperMinPair,  // per 256: 16 f16 d, 16 f16 dmin; per block 16 u8 of the first 16 columns, 16 u8 of the second:
                   // low nibble scale, high nibble minimum
};

struct QuantLayout {
    ScaleKind scales = ScaleKind::Half;
    int bits = 0;
    int offsetShift = -1;  // the offset is 1 << offsetShift; −1: none

    constexpr bool operator==(const QuantLayout&) const = default;
};

constexpr QuantLayout kQ4_0{ScaleKind::Half, 4, 3};
constexpr QuantLayout kQ4_1{ScaleKind::HalfMin, 4, -1};
constexpr QuantLayout kQ5_0{ScaleKind::Half, 5, 4};
constexpr QuantLayout kQ5_1{ScaleKind::HalfMin, 5, -1};
constexpr QuantLayout kQ8_0{ScaleKind::Half, 8, 7};
constexpr QuantLayout kQ2_K{ScaleKind::SuperMinPair, 2, -1};
constexpr QuantLayout kQ3_K{ScaleKind::SuperPair, 3, 2};
constexpr QuantLayout kQ4_K{ScaleKind::SuperMin, 4, -1};
constexpr QuantLayout kQ5_K{ScaleKind::SuperMin, 5, -1};
constexpr QuantLayout kQ6_K{ScaleKind::SuperPair, 6, 5};

// Constant expressions only (consteval: no copy of them is ever linked).
consteval bool hasMinimum(ScaleKind kind)
{
    return kind == ScaleKind::HalfMin || kind == ScaleKind::SuperMin || kind == ScaleKind::SuperMinPair;
}
consteval bool hasPair(ScaleKind kind)
{
    return kind == ScaleKind::SuperPair || kind == ScaleKind::SuperMinPair;
}
consteval bool isSuper(ScaleKind kind)
{
    return kind != ScaleKind::Half && kind != ScaleKind::HalfMin;
}
// Bytes of the scale plane in front of each 256 columns, and for each block.
consteval int superHeaderBytes(ScaleKind kind)
{
    return !isSuper(kind) ? 0 : kind == ScaleKind::SuperPair ? 2 * kRows : 4 * kRows;
}
consteval int blockScaleBytes(ScaleKind kind)
{
    return kind == ScaleKind::HalfMin ? 4 * kRows : 2 * kRows;
}
consteval int blockCodeBytes(int bits)
{
    return bits * kRows * kBlock / 8;
}

}  // namespace tokenscope::kernels::layout
