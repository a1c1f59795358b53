#include "storage/chat_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace tokenscope {
namespace {

std::vector<std::string> wordsOf(std::string_view text)
{
    std::vector<std::string> words;
    std::string word;
    for (char c : text) {
        const bool space = c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\0';
        if (!space)
            word += c;
        else if (!word.empty())
            words.push_back(std::exchange(word, {}));
    }
    if (!word.empty())
        words.push_back(word);
    return words;
}

bool hasTrigram(std::string_view word)
{
    return std::count_if(word.begin(), word.end(), [](char c) { return (c & 0xc0) != 0x80; }) >= 3;
}

// As an FTS5 string: nothing in it is an operator.
std::string phrase(std::string_view word)
{
    std::string text = "\"";
    for (char c : word)
        text += c == '"' ? std::string("\"\"") : std::string(1, c);
    return text + '"';
}

std::string likePattern(std::string_view word)
{
    std::string text = "%";
    for (char c : word) {
        if (c == '%' || c == '_' || c == '\\')
            text += '\\';
        text += c;
    }
    return text + '%';
}

// The index knows three letters and more; shorter words are looked for in the rows themselves.
constexpr std::string_view kIndexed = " AND (c.id IN (SELECT rowid FROM titles_text WHERE titles_text MATCH ?)"
                                      " OR c.id IN (SELECT m.conversation FROM messages_text t JOIN messages m ON m.id "
                                      "= t.rowid WHERE messages_text MATCH ?))";
constexpr std::string_view kScanned = " AND (c.title LIKE ? ESCAPE '\\' OR c.id IN (SELECT m.conversation FROM "
                                      "messages m WHERE m.text LIKE ? ESCAPE '\\'))";

}  // namespace

Result<std::vector<ConversationRow>> readConversations(const Connection& connection, std::string_view search)
{
    constexpr std::size_t kMostWords = 16;  // more make the statement long, not the result better
    auto words = wordsOf(search);
    words.resize(std::min(words.size(), kMostWords));

    std::string sql = "SELECT id, title, system_prompt, created_ms, updated_ms, active_leaf FROM conversations c"
                      " WHERE removed_ms IS NULL";
    for (const std::string& word : words)
        sql += hasTrigram(word) ? kIndexed : kScanned;
    sql += " ORDER BY updated_ms DESC, id DESC";

    auto statement = connection.prepare(sql);
    if (!statement)
        return tl::unexpected(statement.error());
    for (const std::string& word : words) {
        const std::string pattern = hasTrigram(word) ? phrase(word) : likePattern(word);
        statement->bind(pattern).bind(pattern);
    }

    std::vector<ConversationRow> rows;
    for (;;) {
        const auto row = statement->step();
        if (!row)
            return tl::unexpected(row.error());
        if (!*row)
            return rows;
        rows.push_back({.id = statement->integer(0),
                        .title = statement->text(1),
                        .systemPrompt = statement->text(2),
                        .createdMs = statement->integer(3),
                        .updatedMs = statement->integer(4),
                        .activeLeaf = statement->optionalInteger(5)});
    }
}

Result<std::vector<MessageRow>> readMessages(const Connection& connection, ConversationId conversation)
{
    auto statement =
        connection.prepare("SELECT id, conversation, parent, role, text, state, error, model_name, run, created_ms"
                           " FROM messages WHERE conversation = ? ORDER BY id");
    if (!statement)
        return tl::unexpected(statement.error());
    statement->bind(conversation);
    std::vector<MessageRow> rows;
    for (;;) {
        const auto row = statement->step();
        if (!row)
            return tl::unexpected(row.error());
        if (!*row)
            return rows;
        rows.push_back({.id = statement->integer(0),
                        .conversation = statement->integer(1),
                        .parent = statement->optionalInteger(2),
                        .role = statement->text(3),
                        .text = statement->text(4),
                        .state = static_cast<MessageState>(std::clamp<std::int64_t>(statement->integer(5), 0, 3)),
                        .errorText = statement->text(6),
                        .modelName = statement->text(7),
                        .run = statement->optionalInteger(8),
                        .createdMs = statement->integer(9)});
    }
}

namespace {

struct IndexedText {
    std::string_view table;  // "messages_text"
    std::string_view column;
    std::string_view source;  // SELECT of the text that the index holds now, by id
};
constexpr IndexedText kMessageIndex{"messages_text", "text", "SELECT text FROM messages WHERE id = ? AND state <> 1"};
constexpr IndexedText kTitleIndex{"titles_text", "title", "SELECT title FROM conversations WHERE id = ?"};

// Before a row changes its text is taken out of the index (which needs the very words), afterwards the new one put in.
Result<void> takeFromIndex(const Connection& connection, const IndexedText& index, std::int64_t id)
{
    auto current = connection.prepare(index.source);
    if (!current)
        return tl::unexpected(current.error());
    const auto found = current->bind(id).step();
    if (!found)
        return tl::unexpected(found.error());
    if (!*found)
        return {};
    auto removal = connection.prepare(
        fmt::format("INSERT INTO {0} ({0}, rowid, {1}) VALUES ('delete', ?, ?)", index.table, index.column));
    if (!removal)
        return tl::unexpected(removal.error());
    return removal->bind(id).bind(current->text(0)).run();
}

Result<void> putIntoIndex(const Connection& connection, const IndexedText& index, std::int64_t id)
{
    auto current = connection.prepare(index.source);
    if (!current)
        return tl::unexpected(current.error());
    const auto found = current->bind(id).step();
    if (!found)
        return tl::unexpected(found.error());
    if (!*found)
        return {};
    auto insertion =
        connection.prepare(fmt::format("INSERT INTO {} (rowid, {}) VALUES (?, ?)", index.table, index.column));
    if (!insertion)
        return tl::unexpected(insertion.error());
    return insertion->bind(id).bind(current->text(0)).run();
}

}  // namespace

Result<void> writeConversation(const Connection& connection, const ConversationRow& row)
{
    auto statement = connection.prepare(
        "INSERT INTO conversations (id, title, system_prompt, created_ms, updated_ms, active_leaf) VALUES (?, ?, ?, ?, "
        "?, ?)"
        " ON CONFLICT (id) DO UPDATE SET title = excluded.title, system_prompt = excluded.system_prompt,"
        " updated_ms = excluded.updated_ms, active_leaf = excluded.active_leaf WHERE created_ms = excluded.created_ms");
    if (!statement)
        return tl::unexpected(statement.error());
    statement->bind(row.id).bind(row.title).bind(row.systemPrompt);
    statement->bind(row.createdMs).bind(row.updatedMs).bind(row.activeLeaf);
    return takeFromIndex(connection, kTitleIndex, row.id).and_then([&] { return statement->run(); }).and_then([&] {
        return putIntoIndex(connection, kTitleIndex, row.id);
    });
}

Result<void> writeMessage(const Connection& connection, const MessageRow& row)
{
    // A run once linked stays: it may have been set by the storage thread before the sender knew its number. The last
    // line keeps an id that another process happened to draw as well from changing somebody else's message.
    auto statement = connection.prepare(
        "INSERT INTO messages (id, conversation, parent, role, text, state, error, model_name, run, created_ms)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (id) DO UPDATE SET text = excluded.text, state = excluded.state, error = excluded.error,"
        " model_name = excluded.model_name, run = coalesce(excluded.run, run)"
        " WHERE conversation = excluded.conversation AND created_ms = excluded.created_ms");
    if (!statement)
        return tl::unexpected(statement.error());
    statement->bind(row.id).bind(row.conversation).bind(row.parent).bind(row.role).bind(row.text);
    statement->bind(static_cast<std::int64_t>(row.state)).bind(row.errorText).bind(row.modelName).bind(row.run);
    statement->bind(row.createdMs);
    return takeFromIndex(connection, kMessageIndex, row.id).and_then([&] { return statement->run(); }).and_then([&] {
        return putIntoIndex(connection, kMessageIndex, row.id);
    });
}

Result<void> markConversation(const Connection& connection, ConversationId id, std::optional<std::int64_t> removedMs)
{
    auto statement = connection.prepare("UPDATE conversations SET removed_ms = ? WHERE id = ?");
    if (!statement)
        return tl::unexpected(statement.error());
    return statement->bind(removedMs).bind(id).run();
}

Result<void> tidyChats(const Connection& connection)
{
    return connection.execute(R"sql(
        INSERT INTO messages_text (rowid, text) SELECT id, text FROM messages WHERE state = 1;
        UPDATE messages SET state = 2 WHERE state = 1;

        DELETE FROM run_texts WHERE run IN
            (SELECT m.run FROM messages m JOIN conversations c ON c.id = m.conversation WHERE c.removed_ms IS NOT NULL);
        INSERT INTO messages_text (messages_text, rowid, text) SELECT 'delete', id, text FROM messages
            WHERE conversation IN (SELECT id FROM conversations WHERE removed_ms IS NOT NULL);
        DELETE FROM messages WHERE conversation IN (SELECT id FROM conversations WHERE removed_ms IS NOT NULL);
        INSERT INTO titles_text (titles_text, rowid, title)
            SELECT 'delete', id, title FROM conversations WHERE removed_ms IS NOT NULL;
        DELETE FROM conversations WHERE removed_ms IS NOT NULL;
    )sql");
}

}  // namespace tokenscope
