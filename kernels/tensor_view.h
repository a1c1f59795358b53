// A matrix or vector in a buffer somebody else owns.
#pragma once

#include "kernels/dtype.h"

#include <cstddef>
#include <cstdint>

namespace tokenscope::kernels {

// Row-major: `rows` rows of `cols` elements each, blocks as the file has them. A vector has one row.
// A GGUF tensor of shape [ne0, ne1] is cols = ne0, rows = ne1.
struct TensorView {
    const std::byte* data = nullptr;  // not owned; null = the model has no such tensor
    DType type = DType::F32;
    std::int64_t rows = 0;
    std::int64_t cols = 0;

    explicit operator bool() const { return data != nullptr; }
    std::size_t bytes() const { return static_cast<std::size_t>(rows) * rowBytes(type, cols); }
    const std::byte* row(std::int64_t index) const
    {
        return data + static_cast<std::size_t>(index) * rowBytes(type, cols);
    }
};

}  // namespace tokenscope::kernels
