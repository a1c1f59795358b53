#include "storage/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cstring>
#include <utility>

namespace tokenscope {
namespace {

ErrorCode codeOf(int sqliteCode)
{
    switch (sqliteCode & 0xff) {
    case SQLITE_FULL:
        return ErrorCode::DiskFull;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return ErrorCode::DamagedDatabase;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return ErrorCode::Busy;
    case SQLITE_NOMEM:
        return ErrorCode::OutOfMemory;
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return ErrorCode::FileAccess;
    default:
        return ErrorCode::Internal;
    }
}

std::string adviceFor(int sqliteCode)
{
    switch (sqliteCode & 0xff) {
    case SQLITE_FULL:
        return "free some space on that disk";
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
        return "check that the folder exists and may be written to";
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return "another program has been writing to it for more than 5 s";
    case SQLITE_IOERR:
        return "check the disk and the file size limit";
    default:
        return "";
    }
}

Error errorOf(sqlite3* handle, int result, const std::filesystem::path& path, std::string_view doing)
{
    const std::string advice = adviceFor(result);
    const char* words = handle ? sqlite3_errmsg(handle) : sqlite3_errstr(result);
    return Error{codeOf(result),
                 fmt::format("{}: {} failed: {} (SQLite {}){}{}", path.string(), doing, words, result,
                             advice.empty() ? "" : "; ", advice),
                 {path.string(), std::string(doing), words}};
}

}  // namespace

// --- Statement

Statement::Statement(const Connection& connection, sqlite3_stmt* statement)
    : m_connection(&connection), m_statement(statement)
{
}

Statement::Statement(Statement&& other) noexcept
    : m_connection(other.m_connection), m_statement(std::exchange(other.m_statement, nullptr)),
      m_nextParameter(other.m_nextParameter), m_bindResult(other.m_bindResult)
{
}

Statement::~Statement()
{
    sqlite3_finalize(m_statement);
}

Statement& Statement::bind(std::int64_t value)
{
    m_bindResult |= sqlite3_bind_int64(m_statement, m_nextParameter++, value);
    return *this;
}

Statement& Statement::bind(std::string_view text)
{
    // A null pointer would bind NULL, and an empty string_view may have one.
    const char* data = text.data() ? text.data() : "";
    m_bindResult |=
        sqlite3_bind_text64(m_statement, m_nextParameter++, data, text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
    return *this;
}

Statement& Statement::bind(std::span<const std::byte> blob)
{
    const void* data = blob.data() ? static_cast<const void*>(blob.data()) : "";
    m_bindResult |= sqlite3_bind_blob64(m_statement, m_nextParameter++, data, blob.size(), SQLITE_TRANSIENT);
    return *this;
}

Statement& Statement::bindNull()
{
    m_bindResult |= sqlite3_bind_null(m_statement, m_nextParameter++);
    return *this;
}

Result<bool> Statement::step()
{
    if (m_bindResult != SQLITE_OK)
        return tl::unexpected(m_connection->error("giving a value to a statement"));
    switch (sqlite3_step(m_statement)) {
    case SQLITE_ROW:
        return true;
    case SQLITE_DONE:
        return false;
    default:
        return tl::unexpected(m_connection->error("a statement"));
    }
}

Result<void> Statement::run()
{
    for (;;) {
        const auto row = step();
        if (!row)
            return tl::unexpected(row.error());
        if (!*row)
            return {};
    }
}

std::int64_t Statement::integer(int column) const
{
    return sqlite3_column_int64(m_statement, column);
}

std::string Statement::text(int column) const
{
    const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(m_statement, column));
    const auto bytes = static_cast<std::size_t>(sqlite3_column_bytes(m_statement, column));
    return data ? std::string(data, bytes) : std::string();
}

std::span<const std::byte> Statement::blob(int column) const
{
    const auto* data = static_cast<const std::byte*>(sqlite3_column_blob(m_statement, column));
    return {data, static_cast<std::size_t>(sqlite3_column_bytes(m_statement, column))};
}

bool Statement::isNull(int column) const
{
    return sqlite3_column_type(m_statement, column) == SQLITE_NULL;
}

std::optional<std::int64_t> Statement::optionalInteger(int column) const
{
    return isNull(column) ? std::nullopt : std::optional(integer(column));
}

// --- Connection

Connection::Connection(sqlite3* handle, std::filesystem::path path, Access access)
    : m_handle(handle), m_path(std::move(path)), m_access(access)
{
}

Connection::Connection(Connection&& other) noexcept
    : m_handle(std::exchange(other.m_handle, nullptr)), m_path(std::move(other.m_path)), m_access(other.m_access)
{
}

Connection& Connection::operator=(Connection&& other) noexcept
{
    std::swap(m_handle, other.m_handle);
    std::swap(m_path, other.m_path);
    std::swap(m_access, other.m_access);
    return *this;
}

Connection::~Connection()
{
    if (!m_handle)
        return;
    if (m_access == Access::ReadWrite)
        sqlite3_exec(m_handle, "PRAGMA optimize", nullptr, nullptr, nullptr);
    sqlite3_close_v2(m_handle);
}

Result<Connection> Connection::open(const std::filesystem::path& path, Access access)
{
    sqlite3* handle = nullptr;
    const int flags =
        (access == Access::ReadWrite ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY) |
        SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    const int result = sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
    Connection connection(handle, path, access);
    if (result != SQLITE_OK)
        return tl::unexpected(errorOf(handle, result, path, "opening the database"));

    // SQLite opens a file it may not write to for reading only; that is a failure here.
    if (access == Access::ReadWrite && sqlite3_db_readonly(handle, "main") == 1)
        return tl::unexpected(errorOf(nullptr, SQLITE_READONLY, path, "opening the database for writing"));

    if (auto done = connection.execute("PRAGMA busy_timeout=5000"); !done)
        return tl::unexpected(done.error());
    if (access == Access::ReadWrite) {
        if (auto done = connection.execute("PRAGMA journal_mode=WAL"); !done)
            return tl::unexpected(done.error());
    }
    if (auto done = connection.execute("PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON; PRAGMA trusted_schema=OFF");
        !done)
        return tl::unexpected(done.error());
    sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
#ifndef NDEBUG
    if (auto done = connection.execute("PRAGMA cell_size_check=ON"); !done)
        return tl::unexpected(done.error());
#endif
    return connection;
}

Result<Statement> Connection::prepare(std::string_view sql) const
{
    sqlite3_stmt* statement = nullptr;
    const int result = sqlite3_prepare_v3(m_handle, sql.data(), static_cast<int>(sql.size()), 0, &statement, nullptr);
    if (result != SQLITE_OK)
        return tl::unexpected(error("preparing a statement"));
    return Statement(*this, statement);
}

Result<void> Connection::execute(std::string_view sql) const
{
    const std::string text(sql);
    if (sqlite3_exec(m_handle, text.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
        return tl::unexpected(error(text.substr(0, text.find_first_of(";("))));
    return {};
}

Result<std::int64_t> Connection::queryInteger(std::string_view sql) const
{
    auto statement = prepare(sql);
    if (!statement)
        return tl::unexpected(statement.error());
    const auto row = statement->step();
    if (!row)
        return tl::unexpected(row.error());
    return *row ? statement->integer(0) : 0;
}

Result<std::string> Connection::queryText(std::string_view sql) const
{
    auto statement = prepare(sql);
    if (!statement)
        return tl::unexpected(statement.error());
    const auto row = statement->step();
    if (!row)
        return tl::unexpected(row.error());
    return *row ? statement->text(0) : std::string();
}

std::int64_t Connection::lastInsertId() const
{
    return sqlite3_last_insert_rowid(m_handle);
}

int Connection::changes() const
{
    return sqlite3_changes(m_handle);
}

Result<void> Connection::backupTo(const std::filesystem::path& path) const
{
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored))
        return fail(ErrorCode::FileAccess, "{}: is there already and is not overwritten", path.string());

    sqlite3* target = nullptr;
    int result = sqlite3_open_v2(path.c_str(), &target, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
    Connection copy(target, path, Access::ReadOnly);
    if (result == SQLITE_OK) {
        if (sqlite3_backup* backup = sqlite3_backup_init(target, "main", m_handle, "main")) {
            sqlite3_backup_step(backup, -1);
            result = sqlite3_backup_finish(backup);
        } else {
            result = sqlite3_errcode(target);
        }
    }
    if (result == SQLITE_OK)
        return {};
    Error error = errorOf(target, result, path, "the copy before a change of the database");
    std::filesystem::remove(path, ignored);  // half a copy is worth nothing
    return tl::unexpected(std::move(error));
}

Error Connection::error(std::string_view doing) const
{
    return errorOf(m_handle, sqlite3_extended_errcode(m_handle), m_path, doing);
}

// --- Transaction

Result<Transaction> Transaction::begin(const Connection& connection)
{
    // IMMEDIATE: waits for another writer now, where the busy timeout applies, and not in the middle.
    if (auto done = connection.execute("BEGIN IMMEDIATE"); !done)
        return tl::unexpected(done.error());
    return Transaction(connection);
}

Transaction::Transaction(Transaction&& other) noexcept : m_connection(std::exchange(other.m_connection, nullptr)) {}

Transaction::~Transaction()
{
    if (m_connection)
        (void)m_connection->execute("ROLLBACK");  // fails only where SQLite has rolled back already
}

Result<void> Transaction::commit()
{
    const auto done = m_connection->execute("COMMIT");
    if (done)
        m_connection = nullptr;
    return done;
}

}  // namespace tokenscope
