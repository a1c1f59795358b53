#include "storage/run_rows.h"

#include "storage/trace_codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace tokenscope {
namespace {

std::vector<std::byte> packIds(const std::vector<TokenId>& ids)
{
    std::vector<std::byte> bytes;
    bytes.reserve(ids.size() * 4);
    for (TokenId id : ids) {
        for (int shift = 0; shift < 32; shift += 8)
            bytes.push_back(static_cast<std::byte>(static_cast<std::uint32_t>(id) >> shift));
    }
    return bytes;
}

std::vector<TokenId> unpackIds(std::span<const std::byte> bytes)
{
    std::vector<TokenId> ids(bytes.size() / 4);
    for (std::size_t i = 0; i < ids.size(); ++i) {
        std::uint32_t value = 0;
        for (std::size_t byte = 0; byte < 4; ++byte)
            value |= std::to_integer<std::uint32_t>(bytes[i * 4 + byte]) << (8 * byte);
        ids[i] = static_cast<TokenId>(value);
    }
    return ids;
}

std::vector<TokenId> idsOf(const RequestTrace& trace)
{
    std::vector<TokenId> ids(trace.tokens.size());
    std::transform(trace.tokens.begin(), trace.tokens.end(), ids.begin(),
                   [](const TokenStamp& token) { return token.id; });
    return ids;
}

constexpr const char* kColumns =
    "id, kind, started_ms, model_name, model_path, model_sha256, config, environment, metrics, result";

RunRow rowOf(const Statement& statement)
{
    return {.id = statement.integer(0),
            .kind = statement.text(1),
            .startedMs = statement.integer(2),
            .modelName = statement.text(3),
            .modelPath = statement.text(4),
            .modelSha256 = statement.text(5),
            .configJson = statement.text(6),
            .environmentJson = statement.text(7),
            .metricsJson = statement.text(8),
            .resultJson = statement.text(9)};
}

Result<void> readTexts(const Connection& connection, RunRow& row)
{
    auto statement =
        connection.prepare("SELECT prompt, output, prompt_ids, output_ids, trace_ids FROM run_texts WHERE run = ?");
    if (!statement)
        return tl::unexpected(statement.error());
    const auto found = statement->bind(row.id).step();
    if (!found)
        return tl::unexpected(found.error());
    if (!*found)
        return {};
    if (!statement->isNull(0))
        row.promptText = statement->text(0);
    if (!statement->isNull(1))
        row.outputText = statement->text(1);
    row.promptIds = unpackIds(statement->blob(2));
    row.outputIds = unpackIds(statement->blob(3));
    if (row.trace) {
        const auto ids = statement->isNull(4) ? row.outputIds : unpackIds(statement->blob(4));
        for (std::size_t i = 0; i < std::min(ids.size(), row.trace->tokens.size()); ++i)
            row.trace->tokens[i].id = ids[i];
    }
    return {};
}

Result<void> writeTexts(const Connection& connection, RunId id, const RunRow& row)
{
    const auto traceIds = row.trace ? idsOf(*row.trace) : std::vector<TokenId>();
    if (!row.promptText && !row.outputText && row.promptIds.empty() && row.outputIds.empty() && traceIds.empty())
        return {};
    auto statement = connection.prepare("INSERT INTO run_texts (run, prompt, output, prompt_ids, output_ids, trace_ids)"
                                        " VALUES (?, ?, ?, ?, ?, ?)");
    if (!statement)
        return tl::unexpected(statement.error());
    const auto promptIds = packIds(row.promptIds);
    const auto outputIds = packIds(row.outputIds);
    statement->bind(id).bind(row.promptText).bind(row.outputText);
    statement->bind(std::span(promptIds)).bind(std::span(outputIds));
    if (traceIds.empty() || traceIds == row.outputIds)
        return statement->bindNull().run();
    const auto packed = packIds(traceIds);
    return statement->bind(std::span(packed)).run();
}

}  // namespace

Result<std::vector<RunRow>> readRuns(const Connection& connection, int limit)
{
    auto statement = connection.prepare(fmt::format("SELECT {} FROM runs ORDER BY id DESC LIMIT ?", kColumns));
    if (!statement)
        return tl::unexpected(statement.error());
    statement->bind(std::int64_t{limit});
    std::vector<RunRow> rows;
    for (;;) {
        const auto row = statement->step();
        if (!row)
            return tl::unexpected(row.error());
        if (!*row)
            return rows;
        rows.push_back(rowOf(*statement));
    }
}

Result<RunRow> readRun(const Connection& connection, RunId id)
{
    RunRow row;
    {
        auto statement = connection.prepare(fmt::format("SELECT {}, trace FROM runs WHERE id = ?", kColumns));
        if (!statement)
            return tl::unexpected(statement.error());
        const auto found = statement->bind(id).step();
        if (!found)
            return tl::unexpected(found.error());
        if (!*found)
            return fail(ErrorCode::BadInput, "there is no run {}; `runs list` shows those there are", id);
        row = rowOf(*statement);
        if (!statement->isNull(10)) {
            auto trace = unpackTrace(statement->blob(10));
            if (!trace)
                return tl::unexpected(Error{
                    trace.error().code, fmt::format("run {}: {}", id, trace.error().message), {std::to_string(id)}});
            row.trace = std::move(*trace);
        }
    }
    if (auto done = readTexts(connection, row); !done)
        return tl::unexpected(done.error());
    return row;
}

Result<RunId> readLastRun(const Connection& connection)
{
    const auto id = connection.queryInteger("SELECT coalesce(max(id), 0) FROM runs");
    if (id && *id == 0)
        return fail(ErrorCode::BadInput, "no run is stored yet; `run`, `bench` and `perplexity` store one each");
    return id;
}

Result<RunId> writeRun(const Connection& connection, const RunRow& row, std::optional<MessageId> answer)
{
    auto statement =
        connection.prepare("INSERT INTO runs (kind, started_ms, model_name, model_path, model_sha256, config,"
                           " environment, metrics, result, trace) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    if (!statement)
        return tl::unexpected(statement.error());
    statement->bind(row.kind).bind(row.startedMs).bind(row.modelName).bind(row.modelPath).bind(row.modelSha256);
    statement->bind(row.configJson).bind(row.environmentJson).bind(row.metricsJson).bind(row.resultJson);
    if (row.trace) {
        const auto packed = packTrace(*row.trace);
        statement->bind(std::span(packed));
    } else {
        statement->bindNull();
    }
    if (auto done = statement->run(); !done)
        return tl::unexpected(done.error());
    const RunId id = connection.lastInsertId();
    if (auto done = writeTexts(connection, id, row); !done)
        return tl::unexpected(done.error());
    if (answer) {
        auto link = connection.prepare("UPDATE messages SET run = ? WHERE id = ?");
        if (!link)
            return tl::unexpected(link.error());
        if (auto done = link->bind(id).bind(*answer).run(); !done)
            return tl::unexpected(done.error());
    }
    return id;
}

Result<void> writeRunHash(const Connection& connection, RunId id, std::string_view sha256)
{
    auto statement = connection.prepare("UPDATE runs SET model_sha256 = ? WHERE id = ?");
    if (!statement)
        return tl::unexpected(statement.error());
    return statement->bind(sha256).bind(id).run();
}

Result<void> writeRunMetrics(const Connection& connection, RunId id, std::string_view metricsJson)
{
    auto statement = connection.prepare("UPDATE runs SET metrics = ? WHERE id = ?");
    if (!statement)
        return tl::unexpected(statement.error());
    return statement->bind(metricsJson).bind(id).run();
}

Result<void> eraseRunTexts(const Connection& connection, RunId id)
{
    auto statement = connection.prepare("DELETE FROM run_texts WHERE run = ?");
    if (!statement)
        return tl::unexpected(statement.error());
    return statement->bind(id).run();
}

}  // namespace tokenscope
