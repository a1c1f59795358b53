// Rows of the database as plain values. Times are Unix milliseconds, UTC.
#pragma once

#include "engine/types/events.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tokenscope {

// Conversation and message ids are drawn by the program (time in the upper bits, random below), so that two processes
// can write at the same time and nobody waits for the database to hand one out. Runs are numbered 1, 2, 3 … by it.
using ConversationId = std::int64_t;
using MessageId = std::int64_t;
using RunId = std::int64_t;

struct ConversationRow {
    ConversationId id = 0;
    std::string title;
    std::string systemPrompt;
    std::int64_t createdMs = 0;
    std::int64_t updatedMs = 0;
    std::optional<MessageId> activeLeaf;  // end of the branch that was shown last
};

enum class MessageState { Complete, Streaming, Stopped, Failed };

// Messages form a tree: regenerate and edit make siblings under the same parent.
struct MessageRow {
    MessageId id = 0;
    ConversationId conversation = 0;
    std::optional<MessageId> parent;
    std::string role;
    std::string text;
    MessageState state = MessageState::Complete;
    std::string errorText;  // with Failed
    std::string modelName;  // of answers
    std::optional<RunId> run;
    std::int64_t createdMs = 0;
};

// One answer or measurement: configuration, environment and raw events; the texts are apart so that they can be erased.
struct RunRow {
    RunId id = 0;      // 0 when not stored yet
    std::string kind;  // "chat", "run", "bench", "perplexity"
    std::int64_t startedMs = 0;
    std::string modelName;
    std::string modelPath;
    std::string modelSha256;  // may be filled in later
    std::string configJson;   // every setting with its effective value
    std::string environmentJson;
    std::string metricsJson;            // as computed when saved; can always be recomputed from the trace
    std::optional<RequestTrace> trace;  // absent for bench tables
    std::string resultJson;             // bench and perplexity results; of an answer {"model": what the file said}
    std::optional<std::string> promptText;
    std::optional<std::string> outputText;
    std::vector<TokenId> promptIds;
    std::vector<TokenId> outputIds;
};

}  // namespace tokenscope
