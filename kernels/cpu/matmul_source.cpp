#include "kernels/cpu/matmul_source.h"

#include <cassert>
#include <cstring>

namespace tokenscope::kernels {
namespace {

std::uint16_t readU16(const std::uint8_t* bytes)
{
    return static_cast<std::uint16_t>(bytes[0] | bytes[1] << 8);
}

// Byte i: low nibble element i, high nibble element i + 16.
void readNibbles(const std::uint8_t* bytes, std::uint8_t* codes)
{
    for (int i = 0; i < 16; ++i) {
        codes[i] = bytes[i] & 0x0f;
        codes[i + 16] = bytes[i] >> 4;
    }
}

// Bit i of the 32-bit little-endian word is bit 4 of element i.
void addHighBits(const std::uint8_t* word, std::uint8_t* codes)
{
    for (int i = 0; i < 32; ++i)
        codes[i] |= static_cast<std::uint8_t>((word[i / 8] >> (i % 8) & 1) << 4);
}

// Q4_K, Q5_K: eight 6-bit scales and eight 6-bit minima in 12 bytes. The first four of each are the low six bits of
// bytes 0 … 3 and 4 … 7; the last four have their low nibbles in bytes 8 … 11 and their upper two bits in the upper
// two of the former.
void readScaleAndMinimum(const std::uint8_t* packed, int block, std::uint8_t* out)
{
    if (block < 4) {
        out[0] = packed[block] & 63;
        out[1] = packed[block + 4] & 63;
        return;
    }
    const std::uint8_t lows = packed[block + 4];
    out[0] = static_cast<std::uint8_t>((lows & 0x0f) | (packed[block - 4] >> 6) << 4);
    out[1] = static_cast<std::uint8_t>(lows >> 4 | (packed[block] >> 6) << 4);
}

// Q3_K: sixteen 6-bit scales (+32) in 12 bytes: low nibbles in bytes 0 … 7 (first eight low, last eight high), upper
// two bits in bytes 8 … 11.
std::uint8_t readSignedScale(const std::uint8_t* packed, int index)
{
    const int low = index < 8 ? packed[index] & 0x0f : packed[index - 8] >> 4;
    const int high = packed[8 + index % 4] >> (2 * (index / 4)) & 3;
    return static_cast<std::uint8_t>((low | high << 4) - 32);
}

}  // namespace

SourceBlock readSourceBlock(DType type, const std::byte* row, int block)
{
    SourceBlock out;
    const DTypeInfo& info = dtypeInfo(type);
    const int blocksPerUnit = info.blockElements / 32;  // 1, or 8 in a k-quant
    const auto* unit = reinterpret_cast<const std::uint8_t*>(row) + block / blocksPerUnit * info.blockBytes;
    const int sub = block % blocksPerUnit;
    const int half = sub / 4;     // k-quants of 2, 3 and 6 bits interleave 128 columns …
    const int quarter = sub % 4;  // … as four runs of 32

    switch (type) {
    case DType::Q4_0:
        out.d = readU16(unit);
        readNibbles(unit + 2, out.codes);
        break;
    case DType::Q4_1:
        out.d = readU16(unit);
        out.min = readU16(unit + 2);
        readNibbles(unit + 4, out.codes);
        break;
    case DType::Q5_0:
        out.d = readU16(unit);
        readNibbles(unit + 6, out.codes);
        addHighBits(unit + 2, out.codes);
        break;
    case DType::Q5_1:
        out.d = readU16(unit);
        out.min = readU16(unit + 2);
        readNibbles(unit + 8, out.codes);
        addHighBits(unit + 4, out.codes);
        break;
    case DType::Q8_0:
        out.d = readU16(unit);
        for (int i = 0; i < 32; ++i)
            out.codes[i] = unit[2 + i] ^ 0x80;  // signed byte + 128
        break;
    case DType::Q4_K:
    case DType::Q5_K: {
        out.d = readU16(unit);
        out.min = readU16(unit + 2);
        readScaleAndMinimum(unit + 4, sub, out.scaleBytes);
        const std::uint8_t* highs = unit + 16;
        const std::uint8_t* lows = unit + (type == DType::Q4_K ? 16 : 48) + 32 * (sub / 2);
        for (int i = 0; i < 32; ++i) {
            out.codes[i] = sub % 2 ? lows[i] >> 4 : lows[i] & 0x0f;
            if (type == DType::Q5_K)
                out.codes[i] |= static_cast<std::uint8_t>((highs[i] >> sub & 1) << 4);
        }
        break;
    }
    case DType::Q6_K: {
        out.d = readU16(unit + 208);
        std::memcpy(out.scaleBytes, unit + 192 + 2 * sub, 2);
        const std::uint8_t* lows = unit + 64 * half + 32 * (quarter % 2);
        const std::uint8_t* highs = unit + 128 + 32 * half;
        for (int i = 0; i < 32; ++i) {
            const int low = quarter < 2 ? lows[i] & 0x0f : lows[i] >> 4;
            out.codes[i] = static_cast<std::uint8_t>(low | (highs[i] >> (2 * quarter) & 3) << 4);
        }
        break;
    }
    case DType::Q2_K:
        out.d = readU16(unit + 80);
        out.min = readU16(unit + 82);
        std::memcpy(out.scaleBytes, unit + 2 * sub, 2);
        for (int i = 0; i < 32; ++i)
            out.codes[i] = unit[16 + 32 * half + i] >> (2 * quarter) & 3;
        break;
    case DType::Q3_K:
        out.d = readU16(unit + 108);
        out.scaleBytes[0] = readSignedScale(unit + 96, 2 * sub);
        out.scaleBytes[1] = readSignedScale(unit + 96, 2 * sub + 1);
        for (int i = 0; i < 32; ++i) {
            const int low = unit[32 + 32 * half + i] >> (2 * quarter) & 3;
            out.codes[i] = static_cast<std::uint8_t>(low | (unit[i] >> sub & 1) << 2);
        }
        break;
    case DType::F32:
    case DType::F16:
    case DType::BF16:
        assert(!"not a quantised format");
        break;
    }
    return out;
}

}  // namespace tokenscope::kernels
