// What is asked of the engine.
#pragma once

#include "engine/base/clock.h"
#include "engine/types/chat.h"
#include "engine/types/ids.h"
#include "engine/types/settings.h"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tokenscope {

struct TextPrompt {
    std::string text;
    bool parseSpecial = false;
};
struct ChatPrompt {
    std::vector<ChatMessage> messages;
    bool continueLast = false;  // go on with the last (assistant) message instead of starting a new one
};
struct IdsPrompt {
    std::vector<TokenId> ids;  // taken as is, no BOS added
};
// No generation: the log-probability of every id after the first.
struct ScorePrompt {
    std::vector<TokenId> ids;
    int topLogits = 0;
};

struct RequestSpec {
    std::variant<TextPrompt, ChatPrompt, IdsPrompt, ScorePrompt> prompt;
    SamplingSettings sampling;
    int answerIndex = 0;                     // of several answers to one request; part of the random number's key
    int topLogits = 0;                       // of each output token, before penalties and temperature
    std::optional<Nanoseconds> scheduledNs;  // of open-loop arrivals
};

}  // namespace tokenscope
