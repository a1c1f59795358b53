// From what was asked to the token ids of a prompt. Thread-safe; the engine calls it from its thread.
#pragma once

#include "engine/base/result.h"
#include "engine/engine.h"
#include "engine/types/request.h"

#include <string>
#include <vector>

namespace tokenscope {

struct PreparedPrompt {
    std::vector<TokenId> ids;
    int droppedBytes = 0;
    std::vector<std::string> warnings;
};

// BadInput for an empty prompt, ids outside the vocabulary and messages that cannot be continued; TemplateFailed.
// Exactly one BOS where the model's metadata asks for one, none is added where not, ids are taken as they are.
Result<PreparedPrompt> preparePrompt(const RequestSpec& spec, const ModelText& model);

}  // namespace tokenscope
