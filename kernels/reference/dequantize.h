// What the bytes of a tensor mean, for every format this program reads. One scalar function a format, written from its
// block layout; checked bit for bit against tests/data/blocks.json. The oracle for every faster unpacking.
#pragma once

#include "kernels/dtype.h"

#include <cstddef>
#include <cstdint>

namespace tokenscope::kernels {

// `elements` of a row (a multiple of the format's block) from `source`, rowBytes(type, elements) bytes without any
// alignment, to `out`.
void dequantizeRow(DType type, const std::byte* source, float* out, std::int64_t elements);

}  // namespace tokenscope::kernels
