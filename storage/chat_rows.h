// Conversations and messages in SQL. Each function is one statement or a few; whoever calls a writing one brings the
// transaction.
#pragma once

#include "storage/database.h"
#include "storage/records.h"

#include <string_view>
#include <vector>

namespace tokenscope {

// Every word of `search` must stand in the title or in some message, as a part of a word, large and small letters
// alike.
Result<std::vector<ConversationRow>> readConversations(const Connection& connection, std::string_view search);
Result<std::vector<MessageRow>> readMessages(const Connection& connection, ConversationId conversation);

Result<void> writeConversation(const Connection& connection, const ConversationRow& row);
Result<void> writeMessage(const Connection& connection, const MessageRow& row);
Result<void> markConversation(const Connection& connection, ConversationId id, std::optional<std::int64_t> removedMs);

// What waits for a moment when nobody else has the database open: conversations marked as removed go, with the texts of
// their runs; answers that a crash cut off become stopped ones.
Result<void> tidyChats(const Connection& connection);

}  // namespace tokenscope
