// Layouts: ggml-common.h of ggml and the GGUF specification. All numbers are little-endian; f16 is IEEE half precision.
// Products and sums are rounded to f32 one by one, in the order written here, as the published values are.
#include "kernels/reference/dequantize.h"

#include "kernels/reference/half.h"

#include <cassert>
#include <cstring>

namespace tokenscope::kernels {
namespace {

std::uint8_t byteAt(const std::byte* source, int index)
{
    return std::to_integer<std::uint8_t>(source[index]);
}

std::int8_t signedAt(const std::byte* source, int index)
{
    return static_cast<std::int8_t>(byteAt(source, index));
}

std::uint16_t wordAt(const std::byte* source, int index)
{
    return static_cast<std::uint16_t>(byteAt(source, index) | byteAt(source, index + 1) << 8);
}

float halfAt(const std::byte* source, int index)
{
    return f16ToF32(wordAt(source, index));
}

std::uint32_t highBitsAt(const std::byte* source, int index)
{
    return wordAt(source, index) | std::uint32_t{wordAt(source, index + 2)} << 16;
}

// Plain formats: one element a block.
void f32Block(const std::byte* b, float* out)
{
    std::memcpy(out, b, sizeof *out);
}

void f16Block(const std::byte* b, float* out)
{
    *out = halfAt(b, 0);
}

void bf16Block(const std::byte* b, float* out)
{
    *out = bf16ToF32(wordAt(b, 0));
}

// Formats of 32 elements. `qs` is 16 bytes: element j in the low, element j + 16 in the high nibble of byte j.

// 18 bytes: f16 d, qs.    x = d · (q − 8)
void q4_0Block(const std::byte* b, float* out)
{
    const float d = halfAt(b, 0);
    for (int j = 0; j < 16; ++j) {
        const int q = byteAt(b, 2 + j);
        out[j] = d * static_cast<float>((q & 15) - 8);
        out[j + 16] = d * static_cast<float>((q >> 4) - 8);
    }
}

// 20 bytes: f16 d, f16 m, qs.    x = d · q + m
void q4_1Block(const std::byte* b, float* out)
{
    const float d = halfAt(b, 0);
    const float m = halfAt(b, 2);
    for (int j = 0; j < 16; ++j) {
        const int q = byteAt(b, 4 + j);
        out[j] = d * static_cast<float>(q & 15) + m;
        out[j + 16] = d * static_cast<float>(q >> 4) + m;
    }
}

// 22 bytes: f16 d, u32 high (bit j = bit 4 of element j), qs.    x = d · (q − 16)
void q5_0Block(const std::byte* b, float* out)
{
    const float d = halfAt(b, 0);
    const std::uint32_t high = highBitsAt(b, 2);
    for (int j = 0; j < 16; ++j) {
        const int q = byteAt(b, 6 + j);
        out[j] = d * static_cast<float>(((q & 15) | static_cast<int>(high >> j & 1u) << 4) - 16);
        out[j + 16] = d * static_cast<float>(((q >> 4) | static_cast<int>(high >> (j + 16) & 1u) << 4) - 16);
    }
}

// 24 bytes: f16 d, f16 m, u32 high, qs.    x = d · q + m
void q5_1Block(const std::byte* b, float* out)
{
    const float d = halfAt(b, 0);
    const float m = halfAt(b, 2);
    const std::uint32_t high = highBitsAt(b, 4);
    for (int j = 0; j < 16; ++j) {
        const int q = byteAt(b, 8 + j);
        out[j] = d * static_cast<float>((q & 15) | static_cast<int>(high >> j & 1u) << 4) + m;
        out[j + 16] = d * static_cast<float>((q >> 4) | static_cast<int>(high >> (j + 16) & 1u) << 4) + m;
    }
}

// 34 bytes: f16 d, i8 q[32].    x = d · q
void q8_0Block(const std::byte* b, float* out)
{
    const float d = halfAt(b, 0);
    for (int j = 0; j < 32; ++j)
        out[j] = d * static_cast<float>(signedAt(b, 2 + j));
}

// Formats of 256 elements ("k-quants"), a super-block of 8 groups of 32 or 16 groups of 16.

// 84 bytes: u8 scales[16] (low nibble scale, high nibble minimum of group g), u8 qs[64], f16 d, f16 dmin.
// Byte l of the n-th 32 bytes of qs holds elements 128n + l + {0, 32, 64, 96} in bits 0–1, 2–3, 4–5, 6–7.
// x = (d · scale) · q − (dmin · minimum),  g = element / 16
void q2_kBlock(const std::byte* b, float* out)
{
    const float d = halfAt(b, 80);
    const float dmin = halfAt(b, 82);
    for (int i = 0; i < 256; ++i) {
        const int packed = byteAt(b, 16 + i / 128 * 32 + i % 32);
        const int q = packed >> (i % 128 / 32 * 2) & 3;
        const int scales = byteAt(b, i / 16);
        out[i] = d * static_cast<float>(scales & 15) * static_cast<float>(q) - dmin * static_cast<float>(scales >> 4);
    }
}

// 110 bytes: u8 high[32], u8 qs[64] (as in Q2_K), u8 scales[12], f16 d.
// Bit 2 of element i is bit i / 32 of high[i % 32], stored inverted: where it is clear, 4 is subtracted.
// Scale of group g = element / 16, 6 bits, offset 32: low nibbles are the nibbles of scales[g % 8] (low for g < 8, high
// for the others), the two upper bits are bits 2·(g / 4) … of scales[8 + g % 4].
// x = (d · (scale − 32)) · (q − (high ? 0 : 4))
void q3_kBlock(const std::byte* b, float* out)
{
    const float d = halfAt(b, 108);
    for (int i = 0; i < 256; ++i) {
        const int g = i / 16;
        const int low = byteAt(b, 96 + g % 8) >> (g / 8 * 4) & 15;
        const int upper = byteAt(b, 104 + g % 4) >> (g / 4 * 2) & 3;
        const int scale = (low | upper << 4) - 32;
        const int packed = byteAt(b, 32 + i / 128 * 32 + i % 32);
        const int q = packed >> (i % 128 / 32 * 2) & 3;
        const int high = byteAt(b, i % 32) >> (i / 32) & 1;
        out[i] = d * static_cast<float>(scale) * static_cast<float>(q - (high != 0 ? 0 : 4));
    }
}

struct ScaleAndMinimum {
    int scale = 0;
    int minimum = 0;
};

// Q4_K and Q5_K pack 8 six-bit scales and minima into 12 bytes: groups 0–3 in the low six bits of bytes g (scale) and
// g + 4 (minimum); groups 4–7 in the nibbles of byte g + 4, with their upper two bits in bits 6–7 of bytes g − 4 and g.
ScaleAndMinimum sixBitPair(const std::byte* scales, int g)
{
    if (g < 4)
        return {byteAt(scales, g) & 63, byteAt(scales, g + 4) & 63};
    const int nibbles = byteAt(scales, g + 4);
    return {(nibbles & 15) | byteAt(scales, g - 4) >> 6 << 4, nibbles >> 4 | byteAt(scales, g) >> 6 << 4};
}

// 144 bytes: f16 d, f16 dmin, u8 scales[12], u8 qs[128].
// Byte l of the n-th 32 bytes of qs holds elements 64n + l (low nibble) and 64n + 32 + l (high).
// x = (d · scale) · q − (dmin · minimum),  g = element / 32
void q4_kBlock(const std::byte* b, float* out)
{
    const float d = halfAt(b, 0);
    const float dmin = halfAt(b, 2);
    for (int g = 0; g < 8; ++g) {
        const auto [scale, minimum] = sixBitPair(b + 4, g);
        const float step = d * static_cast<float>(scale);
        const float offset = dmin * static_cast<float>(minimum);
        for (int l = 0; l < 32; ++l) {
            const int q = byteAt(b, 16 + g / 2 * 32 + l) >> (g % 2 * 4) & 15;
            out[g * 32 + l] = step * static_cast<float>(q) - offset;
        }
    }
}

// 176 bytes: f16 d, f16 dmin, u8 scales[12], u8 high[32], u8 qs[128] (as in Q4_K).
// Bit 4 of element 32g + l is bit g of high[l].    x = (d · scale) · q − (dmin · minimum)
void q5_kBlock(const std::byte* b, float* out)
{
    const float d = halfAt(b, 0);
    const float dmin = halfAt(b, 2);
    for (int g = 0; g < 8; ++g) {
        const auto [scale, minimum] = sixBitPair(b + 4, g);
        const float step = d * static_cast<float>(scale);
        const float offset = dmin * static_cast<float>(minimum);
        for (int l = 0; l < 32; ++l) {
            const int low = byteAt(b, 48 + g / 2 * 32 + l) >> (g % 2 * 4) & 15;
            const int high = byteAt(b, 16 + l) >> g & 1;
            out[g * 32 + l] = step * static_cast<float>(low | high << 4) - offset;
        }
    }
}

// 210 bytes: u8 low[128], u8 high[64], i8 scales[16], f16 d.
// In each half of 128 elements, element 32s + l (s = 0 … 3) has its low nibble in low[64·half + 32·(s % 2) + l] (low
// nibble for s < 2, high for the others) and its upper two bits in bits 2s … of high[32·half + l].
// x = (d · scale) · (q − 32),  g = element / 16
void q6_kBlock(const std::byte* b, float* out)
{
    const float d = halfAt(b, 208);
    for (int i = 0; i < 256; ++i) {
        const int half = i / 128;
        const int s = i % 128 / 32;
        const int l = i % 32;
        const int low = byteAt(b, half * 64 + s % 2 * 32 + l) >> (s / 2 * 4) & 15;
        const int upper = byteAt(b, 128 + half * 32 + l) >> (s * 2) & 3;
        const int scale = signedAt(b, 192 + i / 16);
        out[i] = d * static_cast<float>(scale) * static_cast<float>((low | upper << 4) - 32);
    }
}

using BlockFunction = void (*)(const std::byte*, float*);

BlockFunction blockFunction(DType type)
{
    switch (type) {
    case DType::F32:
        return f32Block;
    case DType::F16:
        return f16Block;
    case DType::BF16:
        return bf16Block;
    case DType::Q4_0:
        return q4_0Block;
    case DType::Q4_1:
        return q4_1Block;
    case DType::Q5_0:
        return q5_0Block;
    case DType::Q5_1:
        return q5_1Block;
    case DType::Q8_0:
        return q8_0Block;
    case DType::Q2_K:
        return q2_kBlock;
    case DType::Q3_K:
        return q3_kBlock;
    case DType::Q4_K:
        return q4_kBlock;
    case DType::Q5_K:
        return q5_kBlock;
    case DType::Q6_K:
        return q6_kBlock;
    }
    return nullptr;
}

}  // namespace

void dequantizeRow(DType type, const std::byte* source, float* out, std::int64_t elements)
{
    const DTypeInfo& info = dtypeInfo(type);
    const BlockFunction block = blockFunction(type);
    assert(block != nullptr && elements % info.blockElements == 0);
    for (std::int64_t done = 0; done < elements; done += info.blockElements) {
        block(source, out + done);
        source += info.blockBytes;
    }
}

}  // namespace tokenscope::kernels
