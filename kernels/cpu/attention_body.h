// Attention over the paged cache, written once for every instruction set in terms of Vec.
//
// K lies transposed, [headDimK][32 tokens], so that scores are q[d] times a vector of 32 keys and need no sums across
// lanes; V lies [32 tokens][headDimV], so that values are a weight times a row. A piece of 256 positions is computed at
// once: all scores, their maximum, the weights, then the values; pieces are merged as partial softmaxes, in order.
// Every (row, lane) has a chain of operations of its own, so the bits do not depend on the rows that share a tile.
#pragma once

#include "kernels/cpu/step_kernels.h"
#include "kernels/cpu/vec_math.h"

// Loops over the rows and columns of accumulators are unrolled by order: at -O2 the compiler keeps such small loops and
// with them the accumulators in memory, a third of the speed.

namespace tokenscope::kernels {
namespace {

constexpr int kScoreStride = kPieceTokens + 16;  // floats; not a power of two, so that rows do not share a cache set
constexpr float kNothingSeen = -3.0e38f;         // the largest score of a row that sees no key of the piece

struct AttentionScratch {
    float* queries;  // [headDimK][kTileRows], times the scale
    float* scores;   // [kTileRows][kScoreStride], then weights
    float* piece;    // [kTileRows] partials
    float* running;  // [kTileRows] partials
};

inline AttentionScratch scratchOf(const AttentionTile& tile)
{
    AttentionScratch s;
    s.queries = tile.scratch;
    s.scores = s.queries + kTileRows * tile.headDimK;
    s.piece = s.scores + kTileRows * kScoreStride;
    s.running = s.piece + kTileRows * partialFloats(tile.headDimV);
    return s;
}

template <bool kHalf>
constexpr int kBytes = kHalf ? 2 : 4;  // of an element

// The K tile of a block of the sequence. Tiles are a few KiB each and lie far apart, so the processor's own prefetching
// starts anew in each: every loop over a tile fetches the next one (one sequence at a context of 4,096, a thread of a
// Zen 4: 15.2 → 10.3 ms a step).
inline const std::byte* keysOf(const AttentionTile& tile, int block)
{
    return tile.keys + static_cast<std::size_t>(tile.blockTable[block]) * tile.blockStride;
}

template <bool kHalf>
inline Reg loadElements(const std::byte* base, int index)
{
    if constexpr (kHalf)
        return Vec::loadHalf(reinterpret_cast<const std::uint16_t*>(base) + index);
    else
        return Vec::load(reinterpret_cast<const float*>(base) + index);
}

template <bool kHalf>
inline Reg loadElementsPart(const std::byte* base, int index, int count)
{
    if constexpr (kHalf)
        return loadHalfPart(reinterpret_cast<const std::uint16_t*>(base) + index, count);
    else
        return loadPart(reinterpret_cast<const float*>(base) + index, count);
}

// scores[r][0 … 31] = Σ_d q[r][d] · K[d][token] for kRows rows of one block. `next`: the tile read after this one.
template <bool kHalf, int kRows>
void scoreBlock(const std::byte* keys, const std::byte* next, int headDim, const float* queries, float* scores)
{
    constexpr int w = Vec::kLanes, columns = Vec::kScoreColumns;
    for (int first = 0; first < kBlockTokens; first += columns * w) {
        Reg sums[kRows][columns];
#pragma GCC unroll 16
        for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 16
            for (int c = 0; c < columns; ++c)
                sums[r][c] = Vec::zero();
        for (int d = 0; d < headDim; ++d) {
            __builtin_prefetch(next + d * kBlockTokens * kBytes<kHalf>);
            Reg key[columns];
#pragma GCC unroll 16
            for (int c = 0; c < columns; ++c)
                key[c] = loadElements<kHalf>(keys, d * kBlockTokens + first + c * w);
#pragma GCC unroll 16
            for (int r = 0; r < kRows; ++r) {
                const Reg q = Vec::all(queries[d * kTileRows + r]);
#pragma GCC unroll 16
                for (int c = 0; c < columns; ++c)
                    sums[r][c] = Vec::fma(q, key[c], sums[r][c]);
            }
        }
#pragma GCC unroll 16
        for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 16
            for (int c = 0; c < columns; ++c)
                Vec::store(scores + r * kScoreStride + first + c * w, sums[r][c]);
    }
}

template <bool kHalf, int kRows = Vec::kScoreRows>
void scoreRows(int rows, const std::byte* keys, const std::byte* next, int headDim, const float* queries, float* scores)
{
    if (rows == kRows)
        scoreBlock<kHalf, kRows>(keys, next, headDim, queries, scores);
    else if constexpr (kRows > 1)
        scoreRows<kHalf, kRows - 1>(rows, keys, next, headDim, queries, scores);
}

// Scores → weights 2^(score − largest) of the keys first … last (within the piece), 0 elsewhere in [begin, end).
void weigh(float* scores, int first, int last, int begin, int end, float softcap, float* largestOut, float* sumOut)
{
    constexpr int w = Vec::kLanes;
    const int from = first / w * w, to = last / w * w + w;  // vectors that hold a visible key
    const Reg nothing = Vec::all(kNothingSeen);
    Reg largest = nothing;
    for (int i = from; i < to; i += w) {
        Reg s = Vec::load(scores + i);
        if (softcap > 0.0f)
            s = cappedAt(softcap, s);
        s = Vec::keepLanes(Vec::mul(s, Vec::all(kLog2e)), first - i, last + 1 - i, nothing);
        Vec::store(scores + i, s);
        largest = Vec::larger(s, largest);
    }
    const float top = Vec::largest(largest);
    Reg sum = Vec::zero();
    for (int i = from; i < to; i += w) {
        Reg p = exp2(Vec::sub(Vec::load(scores + i), Vec::all(top)));
        p = Vec::keepLanes(p, first - i, last + 1 - i, Vec::zero());
        Vec::store(scores + i, p);
        sum = Vec::add(sum, p);
    }
    for (int i = begin; i < from && i < end; i += w)
        Vec::store(scores + i, Vec::zero());
    for (int i = to; i < end; i += w)
        Vec::store(scores + i, Vec::zero());
    *largestOut = top;
    *sumOut = Vec::sum(sum);
}

struct PieceValues {
    const AttentionTile* tile;
    int firstBlock;  // of the piece, in the sequence's table
    int begin, end;  // keys of the piece that some row sees
    const float* weights;
    float* out;  // values of the first row's partial
};

// out[r][dim … ] = Σ_t weight[r][t] · V[t][dim …] for kRows rows and kColumns vectors (the last one may be partial).
template <bool kHalf, int kRows, int kColumns, bool kPart>
void valueColumns(const PieceValues& work, int dim, int part)
{
    constexpr int w = Vec::kLanes;
    const AttentionTile& tile = *work.tile;
    Reg sums[kRows][kColumns];
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 16
        for (int c = 0; c < kColumns; ++c)
            sums[r][c] = Vec::zero();
    for (int t = work.begin; t < work.end;) {
        const int block = t / kBlockTokens;
        const int stop = work.end < (block + 1) * kBlockTokens ? work.end : (block + 1) * kBlockTokens;
        const std::byte* values = keysOf(tile, work.firstBlock + block) + tile.valueOffset;
        const std::byte* next = stop < work.end ? keysOf(tile, work.firstBlock + block + 1) + tile.valueOffset : values;
        for (; t < stop; ++t) {
            const int element = (t - block * kBlockTokens) * tile.headDimV + dim;
            for (int byte = 0; byte < kColumns * w * kBytes<kHalf>; byte += 64)
                __builtin_prefetch(next + element * kBytes<kHalf> + byte);
            Reg value[kColumns];
#pragma GCC unroll 16
            for (int c = 0; c < kColumns; ++c) {
                if constexpr (kPart)
                    value[c] = loadElementsPart<kHalf>(values, element + c * w, part);
                else
                    value[c] = loadElements<kHalf>(values, element + c * w);
            }
#pragma GCC unroll 16
            for (int r = 0; r < kRows; ++r) {
                const Reg weight = Vec::all(work.weights[r * kScoreStride + t]);
#pragma GCC unroll 16
                for (int c = 0; c < kColumns; ++c)
                    sums[r][c] = Vec::fma(weight, value[c], sums[r][c]);
            }
        }
    }
    const int stride = partialFloats(tile.headDimV);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 16
        for (int c = 0; c < kColumns; ++c) {
            float* out = work.out + r * stride + dim + c * w;
            if constexpr (kPart)
                storePart(out, sums[r][c], part);
            else
                Vec::store(out, sums[r][c]);
        }
}

template <bool kHalf, int kRows>
void valueBlock(const PieceValues& work)
{
    constexpr int w = Vec::kLanes, wide = Vec::kValueColumns;
    const int dims = work.tile->headDimV;
    int dim = 0;
    for (; dim + wide * w <= dims; dim += wide * w)
        valueColumns<kHalf, kRows, wide, false>(work, dim, 0);
    for (; dim + w <= dims; dim += w)
        valueColumns<kHalf, kRows, 1, false>(work, dim, 0);
    if (dim < dims)
        valueColumns<kHalf, kRows, 1, true>(work, dim, dims - dim);
}

template <bool kHalf, int kRows = Vec::kValueRows>
void valueRows(int rows, const PieceValues& work)
{
    if (rows == kRows)
        valueBlock<kHalf, kRows>(work);
    else if constexpr (kRows > 1)
        valueRows<kHalf, kRows - 1>(rows, work);
}

inline int smaller(int a, int b)
{
    return a < b ? a : b;
}

template <bool kHalf>
void computePiece(const AttentionTile& tile, int piece, float* partials)
{
    const AttentionScratch scratch = scratchOf(tile);
    const int origin = piece * kPieceTokens;
    int begin = kPieceTokens, end = 0;
    for (int r = 0; r < tile.rows; ++r) {
        const int first = tile.firstKey[r] - origin, last = tile.lastKey[r] - origin;
        if (last < 0 || first >= kPieceTokens)
            continue;
        begin = smaller(begin, first < 0 ? 0 : first);
        end = end > last + 1 ? end : smaller(last + 1, kPieceTokens);
    }
    const int firstBlock = origin / kBlockTokens;
    for (int block = begin / kBlockTokens; block * kBlockTokens < end; ++block) {
        const std::byte* keys = keysOf(tile, firstBlock + block);
        const bool more = (block + 1) * kBlockTokens < end;
        const std::byte* next = more ? keysOf(tile, firstBlock + block + 1)
                                     : keysOf(tile, firstBlock + begin / kBlockTokens) + tile.valueOffset;
        for (int r = 0; r < tile.rows; r += Vec::kScoreRows)
            scoreRows<kHalf>(smaller(tile.rows - r, Vec::kScoreRows), keys, next, tile.headDimK, scratch.queries + r,
                             scratch.scores + r * kScoreStride + block * kBlockTokens);
    }

    const int stride = partialFloats(tile.headDimV);
    const int clearFrom = begin / Vec::kLanes * Vec::kLanes;
    for (int r = 0; r < tile.rows; ++r) {
        float* scores = scratch.scores + r * kScoreStride;
        float* partial = partials + r * stride;
        const int first = tile.firstKey[r] - origin, last = tile.lastKey[r] - origin;
        if (last < 0 || first >= kPieceTokens) {
            for (int i = clearFrom; i < end; i += Vec::kLanes)
                Vec::store(scores + i, Vec::zero());
            partial[0] = kNothingSeen;
            partial[1] = 0.0f;
            continue;
        }
        weigh(scores, first < 0 ? 0 : first, smaller(last, kPieceTokens - 1), clearFrom, end, tile.softcap, &partial[0],
              &partial[1]);
    }

    for (int r = 0; r < tile.rows; r += Vec::kValueRows) {
        const PieceValues work{
            &tile, firstBlock, begin, end, scratch.scores + r * kScoreStride, partials + r * stride + kPartialHeader};
        valueRows<kHalf>(smaller(tile.rows - r, Vec::kValueRows), work);
    }
}

void prepareQueries(const AttentionTile& tile)
{
    float* queries = scratchOf(tile).queries;
    for (int r = 0; r < tile.rows; ++r)
        for (int d = 0; d < tile.headDimK; ++d)
            queries[d * kTileRows + r] = tile.query[r][d] * tile.scale;
}

void piece(const AttentionTile& tile, int index, float* partials)
{
    if (tile.type == CacheType::F16)
        computePiece<true>(tile, index, partials);
    else
        computePiece<false>(tile, index, partials);
}

// (m, l, o) ← merged with the partial (m', l', o'):  M = max(m, m'),  l·2^(m−M) + l'·2^(m'−M), and o alike.
// A partial that saw nothing is left out, so that rows of a tile with another window do not leave a trace.
void merge(float* running, const float* partial, int headDim)
{
    if (partial[0] == kNothingSeen)
        return;
    if (running[0] == kNothingSeen) {
        std::memcpy(running, partial, static_cast<unsigned>(partialFloats(headDim)) * sizeof(float));
        return;
    }
    const float top = running[0] > partial[0] ? running[0] : partial[0];
    const float old = exp2(running[0] - top), fresh = exp2(partial[0] - top);
    running[0] = top;
    running[1] = running[1] * old + partial[1] * fresh;
    float* o = running + kPartialHeader;
    const float* p = partial + kPartialHeader;
    const Reg oldFactor = Vec::all(old), freshFactor = Vec::all(fresh);
    int i = 0;
    for (; i + Vec::kLanes <= headDim; i += Vec::kLanes)
        Vec::store(o + i, Vec::fma(Vec::load(p + i), freshFactor, Vec::mul(Vec::load(o + i), oldFactor)));
    if (i < headDim) {
        const int rest = headDim - i;
        storePart(o + i, Vec::fma(loadPart(p + i, rest), freshFactor, Vec::mul(loadPart(o + i, rest), oldFactor)),
                  rest);
    }
}

void finish(const float* running, int headDim, float* out)
{
    const Reg inverse = Vec::all(1.0f / running[1]);
    const float* o = running + kPartialHeader;
    int i = 0;
    for (; i + Vec::kLanes <= headDim; i += Vec::kLanes)
        Vec::store(out + i, Vec::mul(Vec::load(o + i), inverse));
    if (i < headDim)
        storePart(out + i, Vec::mul(loadPart(o + i, headDim - i), inverse), headDim - i);
}

void attendPiece(const AttentionTile& tile, int index, float* partials)
{
    prepareQueries(tile);
    piece(tile, index, partials);
}

void attend(const AttentionTile& tile)
{
    prepareQueries(tile);
    const AttentionScratch scratch = scratchOf(tile);
    const int stride = partialFloats(tile.headDimV);
    int first = tile.firstKey[0], last = tile.lastKey[0];
    for (int r = 0; r < tile.rows; ++r) {
        scratch.running[r * stride] = kNothingSeen;
        scratch.running[r * stride + 1] = 0.0f;
        first = smaller(first, tile.firstKey[r]);
        last = last > tile.lastKey[r] ? last : tile.lastKey[r];
    }
    for (int index = first / kPieceTokens; index <= last / kPieceTokens; ++index) {
        piece(tile, index, scratch.piece);
        for (int r = 0; r < tile.rows; ++r)
            merge(scratch.running + r * stride, scratch.piece + r * stride, tile.headDimV);
    }
    for (int r = 0; r < tile.rows; ++r)
        finish(scratch.running + r * stride, tile.headDimV, tile.out[r]);
}

void mergePartials(const float* partials, std::ptrdiff_t stride, int count, int headDim, float* running, float* out)
{
    running[0] = kNothingSeen;
    running[1] = 0.0f;
    for (int i = 0; i < count; ++i)
        merge(running, partials + i * stride, headDim);
    finish(running, headDim, out);
}

constexpr StepKernels kKernels = {rmsNorm, add,         scale,        gate,   rotate,
                                  softcap, allFinite,   largest,      toHalf, quantizationRest,
                                  attend,  attendPiece, mergePartials};

}  // namespace
}  // namespace tokenscope::kernels
