#include "engine/device.h"

namespace tokenscope {

Error toError(const kernels::KernelError& error)
{
    using kernels::KernelErrorCode;
    switch (error.code) {
    case KernelErrorCode::OutOfMemory:
        return {ErrorCode::OutOfMemory, error.message};
    case KernelErrorCode::Unsupported:
        return {ErrorCode::UnsupportedModel, error.message};
    case KernelErrorCode::BadWeights:
        return {ErrorCode::BadFile, error.message};
    case KernelErrorCode::Cancelled:
        return {ErrorCode::Cancelled, error.message};
    case KernelErrorCode::NotANumber:
        return {ErrorCode::NotANumber, error.message};
    case KernelErrorCode::DeviceLost:
        return {ErrorCode::DeviceLost, error.message};
    }
    return {ErrorCode::Internal, error.message};
}

}  // namespace tokenscope
