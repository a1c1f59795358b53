#include "storage/schema.h"

#include <fmt/format.h>

#include <array>

namespace tokenscope {
namespace {

// A step is never changed once a program with it was published; what changes later is a new step below.

constexpr std::string_view kChatsAndRuns = R"sql(
    CREATE TABLE conversations (
        id            INTEGER PRIMARY KEY,       -- drawn by the program (drawId)
        title         TEXT NOT NULL,
        system_prompt TEXT NOT NULL,
        created_ms    INTEGER NOT NULL,          -- Unix time, UTC, as all *_ms
        updated_ms    INTEGER NOT NULL,
        active_leaf   INTEGER,                   -- a message; written before it may be, so no foreign key
        removed_ms    INTEGER                    -- marked; gone at the next open
    ) STRICT;

    CREATE TABLE runs (
        id           INTEGER PRIMARY KEY AUTOINCREMENT,  -- a number is never given twice
        kind         TEXT NOT NULL,
        started_ms   INTEGER NOT NULL,
        model_name   TEXT NOT NULL,
        model_path   TEXT NOT NULL,
        model_sha256 TEXT NOT NULL,              -- '' until computed
        config       TEXT NOT NULL,              -- JSON
        environment  TEXT NOT NULL,              -- JSON
        metrics      TEXT NOT NULL,              -- JSON; can be recomputed from the trace
        result       TEXT NOT NULL,              -- JSON of bench and perplexity, else ''
        trace        BLOB                        -- trace_codec.cpp; without the ids of the tokens
    ) STRICT;

    -- Everything from which the words could be told, apart from the measurements: can be left out or erased.
    CREATE TABLE run_texts (
        run        INTEGER PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
        prompt     TEXT,
        output     TEXT,
        prompt_ids BLOB NOT NULL,                -- 32-bit little-endian
        output_ids BLOB NOT NULL,
        trace_ids  BLOB                          -- of the trace's tokens where they are not the output's
    ) STRICT;

    CREATE TABLE messages (
        id           INTEGER PRIMARY KEY,
        conversation INTEGER NOT NULL REFERENCES conversations (id),
        parent       INTEGER REFERENCES messages (id) DEFERRABLE INITIALLY DEFERRED,
        role         TEXT NOT NULL,
        text         TEXT NOT NULL,
        state        INTEGER NOT NULL,           -- 0 complete, 1 streaming, 2 stopped, 3 failed
        error        TEXT NOT NULL,
        model_name   TEXT NOT NULL,
        run          INTEGER REFERENCES runs (id) ON DELETE SET NULL,
        created_ms   INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX messages_by_conversation ON messages (conversation, id);
    CREATE INDEX messages_by_parent ON messages (parent) WHERE parent IS NOT NULL;
    CREATE INDEX messages_by_run ON messages (run) WHERE run IS NOT NULL;

    -- Processes that have the database open. One that is left here without living ended without closing.
    CREATE TABLE sessions (
        pid        INTEGER NOT NULL,
        started    INTEGER NOT NULL,             -- of the process, in clock ticks since boot: tells re-used pids apart
        PRIMARY KEY (pid, started)
    ) STRICT, WITHOUT ROWID;
)sql";

// Trigrams find any stretch of three letters, in languages without spaces too. The index holds no copy of the text; a
// message that is still being written is not in it, so that saving it once a second does not rewrite the index.
constexpr std::string_view kSearch = R"sql(
    CREATE VIRTUAL TABLE messages_text USING fts5 (text, content = 'messages', content_rowid = 'id', tokenize = 'trigram');
    CREATE VIRTUAL TABLE titles_text USING fts5 (title, content = 'conversations', content_rowid = 'id', tokenize = 'trigram');
    INSERT INTO messages_text (rowid, text) SELECT id, text FROM messages WHERE state <> 1;
    INSERT INTO titles_text (rowid, title) SELECT id, title FROM conversations;
)sql";

constexpr std::array kSteps{kChatsAndRuns, kSearch};

}  // namespace

int schemaVersion()
{
    return static_cast<int>(kSteps.size());
}

Result<void> migrate(const Connection& connection)
{
    if (auto done = connection.execute("PRAGMA synchronous=FULL"); !done)
        return done;
    for (int step = 0; step < schemaVersion(); ++step) {
        auto transaction = Transaction::begin(connection);
        if (!transaction)
            return tl::unexpected(transaction.error());
        const auto version = connection.queryInteger("PRAGMA user_version");
        if (!version)
            return tl::unexpected(version.error());
        if (*version > step)
            continue;
        if (auto done = connection.execute(kSteps[static_cast<std::size_t>(step)]); !done)
            return done;
        if (auto done = connection.execute(fmt::format("PRAGMA user_version={}", step + 1)); !done)
            return done;
        if (auto done = transaction->commit(); !done)
            return done;
    }
    return connection.execute("PRAGMA synchronous=NORMAL");
}

}  // namespace tokenscope
