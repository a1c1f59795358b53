// SQLite in two small classes. A Connection may move between threads but is used by one at a time; a Statement belongs
// to its connection and must be gone before it. Nothing here throws; every failure is an Error with SQLite's own words.
#pragma once

#include "engine/base/result.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace tokenscope {

class Connection;

// A prepared statement, reset when it goes out of scope (a statement left in the middle pins the write-ahead log).
class Statement {
public:
    Statement(Statement&& other) noexcept;
    Statement& operator=(Statement&&) = delete;
    ~Statement();

    // Parameters from 1, in the order they stand in the SQL.
    Statement& bind(std::int64_t value);
    Statement& bind(std::string_view text);
    Statement& bind(std::span<const std::byte> blob);
    Statement& bindNull();
    template <typename T>
    Statement& bind(const std::optional<T>& value)
    {
        return value ? bind(*value) : bindNull();
    }

    Result<bool> step();  // true: a row is there
    Result<void> run();   // to the end, rows ignored

    std::int64_t integer(int column) const;
    std::string text(int column) const;
    std::span<const std::byte> blob(int column) const;  // until the next step
    bool isNull(int column) const;
    std::optional<std::int64_t> optionalInteger(int column) const;

private:
    friend class Connection;
    Statement(const Connection& connection, sqlite3_stmt* statement);

    const Connection* m_connection;
    sqlite3_stmt* m_statement;
    int m_nextParameter = 1;
    int m_bindResult = 0;
};

class Connection {
public:
    enum class Access { ReadWrite, ReadOnly };

    // Creates the file with ReadWrite. Applies the settings every connection has: 5 s of waiting for another writer,
    // write-ahead log, synchronous NORMAL, foreign keys, no trust in the schema, defensive mode.
    static Result<Connection> open(const std::filesystem::path& path, Access access);
    Connection(Connection&& other) noexcept;
    Connection& operator=(Connection&& other) noexcept;
    ~Connection();  // PRAGMA optimize, then closes

    Result<Statement> prepare(std::string_view sql) const;
    Result<void> execute(std::string_view sql) const;  // several statements, no parameters
    Result<std::int64_t> queryInteger(std::string_view sql) const;
    Result<std::string> queryText(std::string_view sql) const;

    std::int64_t lastInsertId() const;
    int changes() const;
    // Copies the whole database to a file that must not exist yet.
    Result<void> backupTo(const std::filesystem::path& path) const;

    Error error(std::string_view doing) const;  // of the last failure
    const std::filesystem::path& path() const { return m_path; }

private:
    Connection(sqlite3* handle, std::filesystem::path path, Access access);

    sqlite3* m_handle;
    std::filesystem::path m_path;
    Access m_access;
};

// BEGIN IMMEDIATE … COMMIT; rolled back if it goes out of scope without commit().
class Transaction {
public:
    static Result<Transaction> begin(const Connection& connection);
    Transaction(Transaction&& other) noexcept;
    Transaction& operator=(Transaction&&) = delete;
    ~Transaction();
    Result<void> commit();

private:
    explicit Transaction(const Connection& connection) : m_connection(&connection) {}
    const Connection* m_connection;  // null when done
};

}  // namespace tokenscope
