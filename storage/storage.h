// The database: one file, tokenscope.sqlite in the data directory. One writer thread with a queue, one read connection
// for the thread that made the Storage. No call that writes waits for the disk.
//
// A newer database is left untouched (state NewerDatabase: nothing is saved in this run of the program); a damaged one
// is renamed tokenscope.sqlite.damaged-DATE and a new one is begun (`notice` says so); nothing is ever overwritten.
#pragma once

#include "engine/base/result.h"
#include "storage/records.h"

#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <string_view>

namespace tokenscope {

class Storage {
public:
    enum class State { Ready, NewerDatabase, Unavailable };

    // Always gives an object: where the file cannot be used, one that saves nothing and whose `error()` says why.
    static std::unique_ptr<Storage> open(const std::filesystem::path& dataDirectory);
    // One that saves nothing because that is wished; `reason` is its error().
    static std::unique_ptr<Storage> none(Error reason);
    virtual ~Storage() = default;  // writes what is queued, then closes

    virtual State state() const = 0;
    virtual const Error& error() const = 0;         // of Unavailable and NewerDatabase
    virtual const std::string& notice() const = 0;  // "" or what was done to a damaged file

    // Called on the storage thread when a queued write failed (disk full, read-only …); the data stays in memory with
    // whoever sent it, and conversations and messages are tried again before each later write and at the end.
    virtual void onWriteFailed(std::function<void(const Error&)> handler) = 0;

    // Reading; only on the thread that opened the Storage.
    virtual Result<std::vector<ConversationRow>> conversations(std::string_view search = {}) = 0;  // newest first
    virtual Result<std::vector<MessageRow>> messages(ConversationId conversation) = 0;             // oldest first
    virtual Result<std::vector<RunRow>> runs(int limit = 1000) = 0;  // newest first, without trace and texts
    virtual Result<RunRow> run(RunId id) = 0;                        // all of it; BadInput if there is none
    virtual Result<RunId> lastRun() = 0;

    // Writing; from any thread, done in order by the storage thread, each in a transaction of its own.
    virtual void saveConversation(ConversationRow row) = 0;  // inserts or updates
    virtual void removeConversation(ConversationId id) = 0;  // marks it; undo with restore, gone at the next open
    virtual void restoreConversation(ConversationId id) = 0;
    virtual void saveMessage(MessageRow row) = 0;                                      // inserts or updates
    virtual void saveTree(ConversationRow row, std::vector<MessageRow> messages) = 0;  // all or nothing; any order
    // Survives power loss (synchronous = FULL). `answer`: the message it belongs to, linked in the same transaction.
    virtual std::future<Result<RunId>> saveRun(RunRow row, std::optional<MessageId> answer = std::nullopt) = 0;
    virtual void setRunHash(RunId id, std::string sha256) = 0;
    virtual void setRunMetrics(RunId id, std::string metricsJson) = 0;
    virtual void eraseRunTexts(RunId id) = 0;       // prompt, answer and the ids of their tokens; the measurements stay
    virtual std::future<Result<void>> flush() = 0;  // when all that was queued before is on disk
};

MessageId drawId();  // see records.h; within a process each is larger than the one before

}  // namespace tokenscope
