// Conversations as files. JSON holds the whole tree, Markdown the branch that is shown.
#pragma once

#include "engine/base/result.h"
#include "storage/records.h"

#include <string>
#include <string_view>
#include <vector>

namespace tokenscope {

struct ConversationFile {
    ConversationRow row;
    std::vector<MessageRow> messages;  // a parent before its children
};

// {"format":"tokenscope-conversation","version":1,"title","system_prompt","created_ms","updated_ms","active":N|null,
//  "messages":[{"id":1
//  …,"parent":N|null,"role","text","state":"complete|stopped|failed","error","model","created_ms"}…]}
std::string conversationToJson(const ConversationRow& row, const std::vector<const MessageRow*>& messages);

// A heading a message; "<!-- tokenscope … -->" before it, which no renderer shows, makes reading back exact.
std::string conversationToMarkdown(const ConversationRow& row, const std::vector<const MessageRow*>& branch);

// Ids are drawn anew. BadInput with what is wrong and where; nothing is half read.
Result<ConversationFile> conversationFromJson(std::string_view text, std::int64_t nowMs);
// Also reads files by others with headings like "## User" and "## Assistant".
Result<ConversationFile> conversationFromMarkdown(std::string_view text, std::int64_t nowMs);

}  // namespace tokenscope
