// A request's raw measurements as a BLOB: about 35 bytes a token where one sequence runs, at most 40. The ids of the
// tokens are left out, because they are the text: they lie with the texts and are erased with them.
#pragma once

#include "engine/base/result.h"
#include "engine/types/events.h"

#include <cstddef>
#include <span>
#include <vector>

namespace tokenscope {

std::vector<std::byte> packTrace(const RequestTrace& trace);

// DamagedDatabase for bytes that are not a whole trace or of a version this program does not know. Token ids are 0.
Result<RequestTrace> unpackTrace(std::span<const std::byte> bytes);

}  // namespace tokenscope
