#include "engine/base/result.h"

namespace tokenscope {

const char* errorCodeName(ErrorCode code)
{
    switch (code) {
    case ErrorCode::BadFile:
        return "bad_file";
    case ErrorCode::UnsupportedModel:
        return "unsupported_model";
    case ErrorCode::FileAccess:
        return "file_access";
    case ErrorCode::DiskFull:
        return "disk_full";
    case ErrorCode::OutOfMemory:
        return "out_of_memory";
    case ErrorCode::OutOfKvMemory:
        return "out_of_kv_memory";
    case ErrorCode::BadSetting:
        return "bad_setting";
    case ErrorCode::BadInput:
        return "bad_input";
    case ErrorCode::TemplateFailed:
        return "template_failed";
    case ErrorCode::ContextFull:
        return "context_full";
    case ErrorCode::Cancelled:
        return "cancelled";
    case ErrorCode::NotANumber:
        return "not_a_number";
    case ErrorCode::Busy:
        return "busy";
    case ErrorCode::NewerDatabase:
        return "newer_database";
    case ErrorCode::DamagedDatabase:
        return "damaged_database";
    case ErrorCode::DeviceLost:
        return "device_lost";
    case ErrorCode::Network:
        return "network";
    case ErrorCode::Internal:
        return "internal";
    }
    return "internal";
}

}  // namespace tokenscope
