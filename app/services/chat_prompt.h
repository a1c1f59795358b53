// From a branch of a conversation to what the engine is asked.
#pragma once

#include "engine/engine.h"
#include "engine/types/request.h"
#include "storage/records.h"

#include <string>
#include <string_view>
#include <vector>

namespace tokenscope {

// The messages the model sees. A question whose answer failed or was stopped before its first word is left out together
// with that answer (many templates insist on turns that alternate), and messages of the same role in a row become one.
std::vector<ChatMessage> messagesForModel(std::string_view systemPrompt, const std::vector<const MessageRow*>& branch);

// Without a template: the text of all turns, to be gone on with. Answers follow their question directly, a new question
// begins a paragraph.
std::string plainPrompt(const std::vector<ChatMessage>& messages);

// `branch` ends with the question, or with the answer to go on with.
std::variant<TextPrompt, ChatPrompt, IdsPrompt, ScorePrompt>
promptFor(std::string_view systemPrompt, const std::vector<const MessageRow*>& branch, bool hasTemplate);

// The first words of the first line that has any, for the list of conversations.
std::string titleFrom(std::string_view userText);

}  // namespace tokenscope
