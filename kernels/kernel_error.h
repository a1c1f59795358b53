// What a device can fail with. kernels/ includes nothing of ours, so it has an error type of its own;
// the engine turns it into an Error.
#pragma once

#include <string>

#include <tl/expected.hpp>

namespace tokenscope::kernels {

enum class KernelErrorCode {
    OutOfMemory,
    Unsupported,  // format, instruction set or shape this backend cannot do
    BadWeights,   // inf or NaN in a scale
    Cancelled,
    NotANumber,  // NaN or infinity in the logits
    DeviceLost,
};

struct KernelError {
    KernelErrorCode code;
    std::string message;  // one sentence with the name and the number
};

template <typename T>
using KernelResult = tl::expected<T, KernelError>;

}  // namespace tokenscope::kernels
