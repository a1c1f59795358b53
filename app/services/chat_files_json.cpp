#include "app/services/chat_files.h"

#include "storage/storage.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <map>
#include <optional>

namespace tokenscope {
namespace {

using nlohmann::json;

constexpr const char* kFormat = "tokenscope-conversation";
constexpr int kVersion = 1;
constexpr std::size_t kMostBytes = 64u << 20;
constexpr std::size_t kMostMessages = 100'000;

const char* stateName(MessageState state)
{
    switch (state) {
    case MessageState::Failed:
        return "failed";
    case MessageState::Stopped:
    case MessageState::Streaming:
        return "stopped";
    case MessageState::Complete:
        break;
    }
    return "complete";
}

// A file could hold bytes that are no UTF-8 (an answer cut by a crash): replaced rather than refused.
std::string dumped(const json& document)
{
    return document.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

tl::unexpected<Error> bad(std::string what)
{
    return fail(ErrorCode::BadInput, "this is not a conversation that can be imported: " + std::move(what));
}

Result<std::string> stringField(const json& object, const char* name, const std::string& where, bool required)
{
    const auto found = object.find(name);
    if (found == object.end() || found->is_null()) {
        if (required)
            return bad(fmt::format("{} has no \"{}\"", where, name));
        return std::string();
    }
    if (!found->is_string())
        return bad(fmt::format("\"{}\" of {} is a {}, expected a string", name, where, found->type_name()));
    return found->get<std::string>();
}

Result<std::optional<std::int64_t>> integerField(const json& object, const char* name, const std::string& where)
{
    const auto found = object.find(name);
    if (found == object.end() || found->is_null())
        return std::optional<std::int64_t>();
    const bool tooLarge = found->is_number_unsigned() &&
                          found->get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()};
    if (!found->is_number_integer() || tooLarge)
        return bad(
            fmt::format("\"{}\" of {} is {}, expected a whole number", name, where, found->dump().substr(0, 40)));
    return std::optional(found->get<std::int64_t>());
}

struct FileMessage {
    std::int64_t id = 0;
    std::optional<std::int64_t> parent;
    MessageRow row;
};

Result<FileMessage> readMessage(const json& object, std::size_t number, std::int64_t nowMs)
{
    const std::string where = fmt::format("message {}", number);
    if (!object.is_object())
        return bad(fmt::format("{} is a {}, expected an object", where, object.type_name()));
    FileMessage message;
    const auto id = integerField(object, "id", where);
    const auto parent = integerField(object, "parent", where);
    const auto created = integerField(object, "created_ms", where);
    const auto role = stringField(object, "role", where, true);
    const auto text = stringField(object, "text", where, true);
    const auto state = stringField(object, "state", where, false);
    const auto error = stringField(object, "error", where, false);
    const auto model = stringField(object, "model", where, false);
    for (const auto* number64 : {&id, &parent, &created}) {
        if (!*number64)
            return tl::unexpected(number64->error());
    }
    for (const auto* string : {&role, &text, &state, &error, &model}) {
        if (!*string)
            return tl::unexpected(string->error());
    }
    if (!*id)
        return bad(fmt::format("{} has no \"id\"", where));
    if (*role != "user" && *role != "assistant" && *role != "system")
        return bad(
            fmt::format("{} has the role \"{}\", expected user, assistant or system", where, role->substr(0, 40)));
    message.id = **id;
    message.parent = *parent;
    message.row.role = *role;
    message.row.text = *text;
    message.row.errorText = *error;
    message.row.modelName = *model;
    message.row.createdMs = created->value_or(nowMs);
    message.row.state = *state == "failed"                             ? MessageState::Failed
                        : *state == "stopped" || *state == "streaming" ? MessageState::Stopped
                                                                       : MessageState::Complete;
    return message;
}

// Parents first; what is left over when no more can be placed hangs in a circle.
Result<std::vector<MessageRow>> inOrder(std::vector<FileMessage> messages, ConversationId conversation,
                                        std::map<std::int64_t, MessageId>& newIds)
{
    std::map<std::int64_t, std::size_t> byId;
    for (std::size_t i = 0; i < messages.size(); ++i) {
        if (!byId.emplace(messages[i].id, i).second)
            return bad(fmt::format("the id {} is used twice", messages[i].id));
    }
    std::map<std::int64_t, std::vector<std::size_t>> children;
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < messages.size(); ++i) {
        if (!messages[i].parent)
            ready.push_back(i);
        else if (byId.contains(*messages[i].parent))
            children[*messages[i].parent].push_back(i);
        else
            return bad(fmt::format("message {} has the parent {}, which is not in the file", messages[i].id,
                                   *messages[i].parent));
    }
    std::vector<MessageRow> rows;
    for (std::size_t next = 0; next < ready.size(); ++next) {
        FileMessage& message = messages[ready[next]];
        message.row.id = drawId();
        message.row.conversation = conversation;
        if (message.parent)
            message.row.parent = newIds.at(*message.parent);
        newIds[message.id] = message.row.id;
        rows.push_back(std::move(message.row));
        for (std::size_t child : children[message.id])
            ready.push_back(child);
    }
    if (rows.size() != messages.size())
        return bad(fmt::format("{} messages are each other's parents in a circle", messages.size() - rows.size()));
    return rows;
}

Result<ConversationFile> readDocument(const json& document, std::int64_t nowMs)
{
    if (!document.is_object())
        return bad(fmt::format("the document is a {}, expected an object", document.type_name()));
    const auto format = stringField(document, "format", "the document", true);
    if (!format)
        return tl::unexpected(format.error());
    if (*format != kFormat)
        return bad(fmt::format("its format is \"{}\", expected \"{}\"", format->substr(0, 40), kFormat));
    const auto version = integerField(document, "version", "the document");
    if (!version)
        return tl::unexpected(version.error());
    if (version->value_or(0) != kVersion)
        return bad(fmt::format("its version is {}, this program reads {}", version->value_or(0), kVersion));

    const auto title = stringField(document, "title", "the document", false);
    const auto system = stringField(document, "system_prompt", "the document", false);
    const auto created = integerField(document, "created_ms", "the document");
    const auto updated = integerField(document, "updated_ms", "the document");
    const auto active = integerField(document, "active", "the document");
    for (const auto* string : {&title, &system}) {
        if (!*string)
            return tl::unexpected(string->error());
    }
    for (const auto* number : {&created, &updated, &active}) {
        if (!*number)
            return tl::unexpected(number->error());
    }
    const auto list = document.find("messages");
    if (list == document.end() || !list->is_array())
        return bad("it has no list \"messages\"");
    if (list->size() > kMostMessages)
        return bad(fmt::format("it has {} messages, the limit is {}", list->size(), kMostMessages));

    std::vector<FileMessage> messages;
    messages.reserve(list->size());
    for (const json& object : *list) {
        auto message = readMessage(object, messages.size() + 1, nowMs);
        if (!message)
            return tl::unexpected(message.error());
        messages.push_back(std::move(*message));
    }

    ConversationFile file;
    file.row = {.id = drawId(),
                .title = *title,
                .systemPrompt = *system,
                .createdMs = created->value_or(nowMs),
                .updatedMs = updated->value_or(nowMs)};
    std::map<std::int64_t, MessageId> newIds;
    auto rows = inOrder(std::move(messages), file.row.id, newIds);
    if (!rows)
        return tl::unexpected(rows.error());
    file.messages = std::move(*rows);
    if (*active) {
        const auto found = newIds.find(**active);
        if (found == newIds.end())
            return bad(fmt::format("its active message {} is not in the file", **active));
        file.row.activeLeaf = found->second;
    }
    return file;
}

}  // namespace

std::string conversationToJson(const ConversationRow& row, const std::vector<const MessageRow*>& messages)
{
    // Numbered 1, 2, 3 …: the database's ids need more digits than other programs' JSON numbers keep.
    std::map<MessageId, int> numbers;
    for (const MessageRow* message : messages)
        numbers.emplace(message->id, static_cast<int>(numbers.size()) + 1);
    const auto numberOf = [&](const std::optional<MessageId>& id) {
        const auto found = id ? numbers.find(*id) : numbers.end();
        return found == numbers.end() ? json(nullptr) : json(found->second);
    };

    json list = json::array();
    for (const MessageRow* message : messages)
        list.push_back({{"id", numbers.at(message->id)},
                        {"parent", numberOf(message->parent)},
                        {"role", message->role},
                        {"text", message->text},
                        {"state", stateName(message->state)},
                        {"error", message->errorText},
                        {"model", message->modelName},
                        {"created_ms", message->createdMs}});
    return dumped({{"format", kFormat},
                   {"version", kVersion},
                   {"title", row.title},
                   {"system_prompt", row.systemPrompt},
                   {"created_ms", row.createdMs},
                   {"updated_ms", row.updatedMs},
                   {"active", numberOf(row.activeLeaf)},
                   {"messages", std::move(list)}});
}

Result<ConversationFile> conversationFromJson(std::string_view text, std::int64_t nowMs)
{
    if (text.size() > kMostBytes)
        return bad(fmt::format("it has {} bytes, the limit is {}", text.size(), kMostBytes));
    try {
        return readDocument(json::parse(text), nowMs);
    } catch (const json::parse_error& error) {
        return bad(fmt::format("it is not JSON from byte {} on", error.byte));
    } catch (const json::exception& error) {
        return bad(error.what());
    }
}

}  // namespace tokenscope
