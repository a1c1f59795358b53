// The quantised formats of GGUF, one block of 32 columns at a time, as codes and scales before any arithmetic: what
// packing needs. Private to packing; the values themselves are the business of kernels/reference/dequantize.h.
#pragma once

#include "kernels/dtype.h"

#include <cstddef>
#include <cstdint>

namespace tokenscope::kernels {

// value(k) = (codes[k] − offset) · d · scales[k / 16] ∓ minimum, by format (see layout::ScaleKind).
struct SourceBlock {
    std::uint8_t codes[32];
    std::uint16_t d = 0;    // f16 bits
    std::uint16_t min = 0;  // f16 bits of m (Q4_1, Q5_1) or dmin (k-quants)
    // The two bytes a row has per block in the scale plane of a k-quant, in the plane's order.
    std::uint8_t scaleBytes[2] = {0, 0};
};

// Block `block` of 32 columns of the row at `row`. Any quantised format.
SourceBlock readSourceBlock(DType type, const std::byte* row, int block);

}  // namespace tokenscope::kernels
