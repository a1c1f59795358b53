#include "kernels/cpu/matmul.h"
#include "kernels/cpu/matmul_dispatch.h"
#include "kernels/cpu/matmul_kernels.h"
#include "kernels/cpu/matmul_source.h"
#include "kernels/reference/half.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>

namespace tokenscope::kernels {
namespace {

using namespace layout;

std::size_t alignToVector(std::size_t bytes)
{
    return (bytes + kVectorBytes - 1) / kVectorBytes * kVectorBytes;
}

std::size_t packedGroupBytes(DType type, int cols)
{
    if (needsFloatActivations(type))
        return alignToVector(std::size_t(cols) * kRows * (type == DType::F32 ? 4 : 2));
    std::size_t bytes = 0;
    withLayout(type, [&]<QuantLayout L>() {
        bytes = static_cast<std::size_t>(scalePlaneBytes<L>(cols)) +
                static_cast<std::size_t>(cols / kBlock) * blockCodeBytes(L.bits);
    });
    return bytes;
}

// Four codes at once: columns 4 j … 4 j + 3 of one row.
std::uint32_t fourCodes(const SourceBlock& source, int j)
{
    std::uint32_t codes;
    std::memcpy(&codes, source.codes + 4 * j, 4);
    return codes;
}

// Ors the codes of one row into the block's code vectors, which start as zeros.
template <int kBits>
void placeCodes(const SourceBlock& source, int row, std::byte* block)
{
    constexpr std::uint32_t kEveryByte = 0x01010101u;
    const auto merge = [&](int vector, std::uint32_t bits) {
        std::uint32_t lane;
        std::byte* place = block + vector * kVectorBytes + 4 * row;
        std::memcpy(&lane, place, 4);
        lane |= bits;
        std::memcpy(place, &lane, 4);
    };
    for (int j = 0; j < kCodeVectors; ++j) {
        const std::uint32_t codes = fourCodes(source, j);
        if constexpr (kBits == 8)
            merge(j, codes);
        if constexpr (kBits == 4 || kBits == 5 || kBits == 6)
            merge(j % 4, (codes & 0x0f * kEveryByte) << (j < 4 ? 0 : 4));
        if constexpr (kBits == 2 || kBits == 3)
            merge(j / 4, (codes & 3 * kEveryByte) << 2 * (j % 4));
        if constexpr (kBits == 5)
            merge(4, (codes >> 4 & kEveryByte) << j);
        if constexpr (kBits == 3)
            merge(2, (codes >> 2 & kEveryByte) << j);
        if constexpr (kBits == 6)
            merge(4 + j / 4, (codes >> 4 & 3 * kEveryByte) << 2 * (j % 4));
    }
}

// The codes of one row of a block, as placeCodes left them.
template <int kBits>
int codeAt(const std::byte* block, int row, int column)
{
    const int j = column / 4;
    const auto at = [&](int vector) {
        return std::to_integer<int>(block[vector * kVectorBytes + 4 * row + column % 4]);
    };
    if constexpr (kBits == 8)
        return at(j);
    int code = 0;
    if constexpr (kBits == 4 || kBits == 5 || kBits == 6)
        code = at(j % 4) >> (j < 4 ? 0 : 4) & 0x0f;
    if constexpr (kBits == 2 || kBits == 3)
        code = at(j / 4) >> 2 * (j % 4) & 3;
    if constexpr (kBits == 5)
        code |= (at(4) >> j & 1) << 4;
    if constexpr (kBits == 3)
        code |= (at(2) >> j & 1) << 2;
    if constexpr (kBits == 6)
        code |= (at(4 + j / 4) >> 2 * (j % 4) & 3) << 4;
    return code;
}

void putHalf(std::byte* place, int row, std::uint16_t bits)
{
    std::memcpy(place + 2 * row, &bits, 2);
}

template <QuantLayout L>
void placeScales(const SourceBlock& source, int row, int block, std::byte* scalePlane)
{
    std::byte* scales = scalePlane + blockScaleOffset<L>(block);
    if constexpr (isSuper(L.scales)) {
        scales[row] = std::byte{source.scaleBytes[0]};
        scales[kRows + row] = std::byte{source.scaleBytes[1]};
        if (block % kSuperBlocks != 0)
            return;
        std::byte* header = scalePlane + superOffset<L>(block / kSuperBlocks);
        putHalf(header, row, source.d);
        if constexpr (hasMinimum(L.scales))
            putHalf(header + 2 * kRows, row, source.min);
    } else {
        putHalf(scales, row, source.d);
        if constexpr (hasMinimum(L.scales))
            putHalf(scales + 2 * kRows, row, source.min);
    }
}

bool isFiniteHalf(std::uint16_t half)
{
    return (half & 0x7c00) != 0x7c00;
}

std::string notFinite(float value)
{
    return std::isnan(value) ? "not a number" : "infinite";
}

tl::unexpected<KernelError> badScale(const TensorView& source, std::int64_t row, int block, const SourceBlock& bad)
{
    const bool isMinimum = isFiniteHalf(bad.d);
    const int firstColumn = block * kBlock;
    return tl::unexpected(KernelError{
        KernelErrorCode::BadWeights,
        "the " + std::string(isMinimum ? "minimum" : "scale") + " of row " + std::to_string(row) + ", columns from " +
            std::to_string(firstColumn) + " (" + std::string(dtypeInfo(source.type).name) + ") is " +
            notFinite(f16ToF32(isMinimum ? bad.min : bad.d)) + "; the file is damaged, fetch it again"});
}

template <QuantLayout L>
KernelResult<void> packQuantGroup(const TensorView& source, int group, std::byte* out)
{
    const int blocks = static_cast<int>(source.cols / kBlock);
    std::byte* codePlane = out + scalePlaneBytes<L>(static_cast<int>(source.cols));
    const std::int64_t firstRow = std::int64_t{group} * kRows;
    const int rows = static_cast<int>(std::min<std::int64_t>(kRows, source.rows - firstRow));
    for (int row = 0; row < rows; ++row) {
        const std::byte* sourceRow = source.row(firstRow + row);
        for (int block = 0; block < blocks; ++block) {
            const SourceBlock decoded = readSourceBlock(source.type, sourceRow, block);
            if (!isFiniteHalf(decoded.d) || !isFiniteHalf(decoded.min))
                return badScale(source, firstRow + row, block, decoded);
            placeScales<L>(decoded, row, block, out);
            placeCodes<L.bits>(decoded, row, codePlane + block * blockCodeBytes(L.bits));
        }
    }
    return {};
}

float floatWeight(DType type, const std::byte* values, std::int64_t index)
{
    if (type == DType::F32) {
        float value;
        std::memcpy(&value, values + 4 * index, 4);
        return value;
    }
    std::uint16_t bits;
    std::memcpy(&bits, values + 2 * index, 2);
    return type == DType::F16 ? f16ToF32(bits) : bf16ToF32(bits);
}

KernelResult<void> packFloatGroup(const TensorView& source, int group, std::byte* out)
{
    const int bytes = source.type == DType::F32 ? 4 : 2;
    const std::int64_t firstRow = std::int64_t{group} * kRows;
    const int rows = static_cast<int>(std::min<std::int64_t>(kRows, source.rows - firstRow));
    for (int row = 0; row < rows; ++row) {
        const std::byte* sourceRow = source.row(firstRow + row);
        for (std::int64_t k = 0; k < source.cols; ++k) {
            const float value = floatWeight(source.type, sourceRow, k);
            if (!std::isfinite(value))
                return tl::unexpected(KernelError{KernelErrorCode::BadWeights,
                                                  "row " + std::to_string(firstRow + row) + ", column " +
                                                      std::to_string(k) + " (" +
                                                      std::string(dtypeInfo(source.type).name) + ") is " +
                                                      notFinite(value) + "; the file is damaged, fetch it again"});
            std::memcpy(out + (k * kRows + row) * bytes, sourceRow + k * bytes, bytes);
        }
    }
    return {};
}

// Rounded after every operation, in the order the formats' definition has: equal to the oracle bit for bit.
template <QuantLayout L>
void unpackQuantRow(const std::byte* group, int row, int cols, float* out)
{
    const auto halfAt = [row](const std::byte* place) {
        std::uint16_t bits;
        std::memcpy(&bits, place + 2 * row, 2);
        return f16ToF32(bits);
    };
    const std::byte* codePlane = group + scalePlaneBytes<L>(cols);
    for (int block = 0; block < cols / kBlock; ++block) {
        const std::byte* scales = group + blockScaleOffset<L>(block);
        const std::byte* header = isSuper(L.scales) ? group + superOffset<L>(block / kSuperBlocks) : scales;
        const float d = halfAt(header);
        const float m = hasMinimum(L.scales) ? halfAt(header + 2 * kRows) : 0.0f;
        const int bytes[2] = {std::to_integer<int>(scales[row]), std::to_integer<int>(scales[kRows + row])};
        for (int k = 0; k < kBlock; ++k) {
            constexpr int kOffset = L.offsetShift < 0 ? 0 : 1 << L.offsetShift;
            const auto code =
                static_cast<float>(codeAt<L.bits>(codePlane + block * blockCodeBytes(L.bits), row, k) - kOffset);
            float value = 0.0f;
            if constexpr (L.scales == ScaleKind::Half)
                value = code * d;
            else if constexpr (L.scales == ScaleKind::HalfMin)
                value = code * d + m;
            else if constexpr (L.scales == ScaleKind::SuperMin)
                value = code * (d * static_cast<float>(bytes[0])) - m * static_cast<float>(bytes[1]);
            else if constexpr (L.scales == ScaleKind::SuperPair)
                value = code * (d * static_cast<float>(static_cast<std::int8_t>(bytes[k / 16])));
            else
                value =
                    code * (d * static_cast<float>(bytes[k / 16] & 15)) - m * static_cast<float>(bytes[k / 16] >> 4);
            out[block * kBlock + k] = value;
        }
    }
}

}  // namespace

std::size_t packedBytes(DType type, int rows, int cols)
{
    return packedGroupBytes(type, cols) * static_cast<std::size_t>((rows + kGroupRows - 1) / kGroupRows);
}

KernelResult<void> packGroups(const TensorView& source, int groupBegin, int groupEnd, std::byte* out)
{
    const std::size_t groupBytes = packedGroupBytes(source.type, static_cast<int>(source.cols));
    for (int group = groupBegin; group < groupEnd; ++group) {
        std::byte* place = out + static_cast<std::size_t>(group) * groupBytes;
        std::memset(place, 0, groupBytes);
        KernelResult<void> result;
        if (needsFloatActivations(source.type))
            result = packFloatGroup(source, group, place);
        else
            withLayout(source.type, [&]<QuantLayout L>() { result = packQuantGroup<L>(source, group, place); });
        if (!result)
            return result;
    }
    return {};
}

PackedMatrix packedView(const TensorView& source, const std::byte* packed)
{
    const int cols = static_cast<int>(source.cols);
    return {source.type, static_cast<int>(source.rows), cols, packed, packedGroupBytes(source.type, cols)};
}

void unpackRowScalar(const PackedMatrix& weights, int row, float* out)
{
    const std::byte* group = weights.data + static_cast<std::size_t>(row / kRows) * weights.groupBytes;
    if (needsFloatActivations(weights.type)) {
        for (std::int64_t k = 0; k < weights.cols; ++k)
            out[k] = floatWeight(weights.type, group, k * kRows + row % kRows);
        return;
    }
    withLayout(weights.type, [&]<QuantLayout L>() { unpackQuantRow<L>(group, row % kRows, weights.cols, out); });
}

}  // namespace tokenscope::kernels
