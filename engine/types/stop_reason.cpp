#include "engine/types/events.h"

namespace tokenscope {

const char* stopReasonName(StopReason reason)
{
    switch (reason) {
    case StopReason::Eos:
        return "eos";
    case StopReason::StopString:
        return "stop_string";
    case StopReason::Length:
        return "length";
    case StopReason::ContextFull:
        return "context_full";
    case StopReason::Cancelled:
        return "cancelled";
    case StopReason::Deadline:
        return "deadline";
    case StopReason::Error:
        return "error";
    }
    return "error";
}

}  // namespace tokenscope
