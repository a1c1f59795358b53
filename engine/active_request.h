// A request from the moment the engine takes it until its end. Of the engine's thread.
#pragma once

#include "engine/engine.h"
#include "engine/tokenizer/text_stream.h"
#include "engine/types/events.h"
#include "engine/types/request.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tokenscope {

struct ActiveRequest {
    explicit ActiveRequest(std::vector<std::string> stopStrings) : stream(std::move(stopStrings)) {}

    RequestFinished result;       // filled as it goes; promptIds and the trace's arrays have their room reserved
    std::vector<TokenId> tokens;  // prompt and output: what the rows compute
    TextStream stream;
    std::uint64_t seed = 0;
    std::uint32_t answerIndex = 0;
    int topLogits = 0;
    bool isScoring = false;
    bool isScheduled = false;         // the scheduler knows it
    std::optional<StopReason> ended;  // in the step that is being committed
};

}  // namespace tokenscope
