#include "storage/storage.h"

#include "engine/base/clock.h"
#include "storage/chat_rows.h"
#include "storage/open_database.h"
#include "storage/run_rows.h"
#include "storage/writer.h"

#include <algorithm>
#include <atomic>
#include <random>
#include <utility>

namespace tokenscope {
namespace {

template <typename T>
std::future<Result<T>> readyFuture(Result<T> value)
{
    std::promise<Result<T>> promise;
    promise.set_value(std::move(value));
    return promise.get_future();
}

class SqliteStorage final : public Storage {
public:
    SqliteStorage(Connection writer, Connection reader, std::string notice)
        : m_notice(std::move(notice)), m_writer(std::move(writer)), m_reader(std::move(reader))
    {
    }

    State state() const override { return State::Ready; }
    const Error& error() const override { return m_noError; }
    const std::string& notice() const override { return m_notice; }
    void onWriteFailed(std::function<void(const Error&)> handler) override { m_writer.onFailed(std::move(handler)); }

    Result<std::vector<ConversationRow>> conversations(std::string_view search) override
    {
        return readConversations(m_reader, search);
    }
    Result<std::vector<MessageRow>> messages(ConversationId conversation) override
    {
        return readMessages(m_reader, conversation);
    }
    Result<std::vector<RunRow>> runs(int limit) override { return readRuns(m_reader, limit); }
    Result<RunRow> run(RunId id) override { return readRun(m_reader, id); }
    Result<RunId> lastRun() override { return readLastRun(m_reader); }

    void saveConversation(ConversationRow row) override
    {
        const auto id = row.id;
        m_writer.enqueue(
            id, [row = std::move(row)](const Connection& connection) { return writeConversation(connection, row); });
    }
    void removeConversation(ConversationId id) override
    {
        const std::int64_t now = systemClock().wallMs();
        m_writer.enqueue(0, [id, now](const Connection& connection) { return markConversation(connection, id, now); });
    }
    void restoreConversation(ConversationId id) override
    {
        m_writer.enqueue(0,
                         [id](const Connection& connection) { return markConversation(connection, id, std::nullopt); });
    }
    void saveMessage(MessageRow row) override
    {
        const auto id = row.id;
        m_writer.enqueue(
            id, [row = std::move(row)](const Connection& connection) { return writeMessage(connection, row); });
    }
    void saveTree(ConversationRow row, std::vector<MessageRow> messages) override
    {
        m_writer.enqueue(0, [row = std::move(row), messages = std::move(messages)](const Connection& connection) {
            if (auto done = writeConversation(connection, row); !done)
                return done;
            for (const MessageRow& message : messages) {
                if (auto done = writeMessage(connection, message); !done)
                    return done;
            }
            return Result<void>();
        });
    }
    std::future<Result<RunId>> saveRun(RunRow row, std::optional<MessageId> answer) override;
    void setRunHash(RunId id, std::string sha256) override
    {
        m_writer.enqueue(0, [id, sha256 = std::move(sha256)](const Connection& connection) {
            return writeRunHash(connection, id, sha256);
        });
    }
    void setRunMetrics(RunId id, std::string metricsJson) override
    {
        m_writer.enqueue(0, [id, json = std::move(metricsJson)](const Connection& connection) {
            return writeRunMetrics(connection, id, json);
        });
    }
    void eraseRunTexts(RunId id) override
    {
        m_writer.enqueue(0, [id](const Connection& connection) { return tokenscope::eraseRunTexts(connection, id); });
    }
    std::future<Result<void>> flush() override { return m_writer.flush(); }

private:
    const Error m_noError;
    const std::string m_notice;
    Writer m_writer;
    Connection m_reader;  // closed first: only a connection that may write can put the log into the file and remove it
};

std::future<Result<RunId>> SqliteStorage::saveRun(RunRow row, std::optional<MessageId> answer)
{
    // The number is known inside the transaction, but told only when that has been committed.
    struct Shared {
        std::promise<Result<RunId>> promise;
        RunId id = 0;
    };
    auto shared = std::make_shared<Shared>();
    auto future = shared->promise.get_future();
    m_writer.enqueueDurable(
        [row = std::move(row), answer, shared](const Connection& connection) -> Result<void> {
            const auto id = writeRun(connection, row, answer);
            if (!id)
                return tl::unexpected(id.error());
            shared->id = *id;
            return {};
        },
        [shared](const Result<void>& done) {
            shared->promise.set_value(done ? Result<RunId>(shared->id) : tl::unexpected(done.error()));
        });
    return future;
}

// Saves nothing and says why.
class NoStorage final : public Storage {
public:
    NoStorage(State state, Error error) : m_state(state), m_error(std::move(error)) {}

    State state() const override { return m_state; }
    const Error& error() const override { return m_error; }
    const std::string& notice() const override { return m_noNotice; }
    void onWriteFailed(std::function<void(const Error&)>) override {}

    Result<std::vector<ConversationRow>> conversations(std::string_view) override { return tl::unexpected(m_error); }
    Result<std::vector<MessageRow>> messages(ConversationId) override { return tl::unexpected(m_error); }
    Result<std::vector<RunRow>> runs(int) override { return tl::unexpected(m_error); }
    Result<RunRow> run(RunId) override { return tl::unexpected(m_error); }
    Result<RunId> lastRun() override { return tl::unexpected(m_error); }

    void saveConversation(ConversationRow) override {}
    void removeConversation(ConversationId) override {}
    void restoreConversation(ConversationId) override {}
    void saveMessage(MessageRow) override {}
    void saveTree(ConversationRow, std::vector<MessageRow>) override {}
    std::future<Result<RunId>> saveRun(RunRow, std::optional<MessageId>) override
    {
        return readyFuture<RunId>(tl::unexpected(m_error));
    }
    void setRunHash(RunId, std::string) override {}
    void setRunMetrics(RunId, std::string) override {}
    void eraseRunTexts(RunId) override {}
    std::future<Result<void>> flush() override { return readyFuture<void>(tl::unexpected(m_error)); }

private:
    const State m_state;
    const Error m_error;
    const std::string m_noNotice;
};

std::unique_ptr<Storage> withoutDatabase(Error error)
{
    const auto state =
        error.code == ErrorCode::NewerDatabase ? Storage::State::NewerDatabase : Storage::State::Unavailable;
    return std::make_unique<NoStorage>(state, std::move(error));
}

}  // namespace

std::unique_ptr<Storage> Storage::open(const std::filesystem::path& dataDirectory)
{
    auto opened = openDatabase(dataDirectory);
    if (!opened)
        return withoutDatabase(std::move(opened.error()));
    auto reader = Connection::open(opened->writer.path(), Connection::Access::ReadOnly);
    if (!reader) {
        leaveSession(opened->writer);
        return withoutDatabase(std::move(reader.error()));
    }
    return std::make_unique<SqliteStorage>(std::move(opened->writer), std::move(*reader), std::move(opened->notice));
}

std::unique_ptr<Storage> Storage::none(Error reason)
{
    return withoutDatabase(std::move(reason));
}

MessageId drawId()
{
    // 42 bits of milliseconds last until 2109; 21 random bits below keep two processes apart.
    constexpr int kRandomBits = 21;
    thread_local std::mt19937_64 random{std::random_device{}()};
    static std::atomic<MessageId> last{0};

    const auto drawn = (systemClock().wallMs() << kRandomBits) | static_cast<MessageId>(random() >> (64 - kRandomBits));
    MessageId before = last.load();
    MessageId id = 0;
    do {
        id = std::max(drawn, before + 1);
    } while (!last.compare_exchange_weak(before, id));
    return id;
}

}  // namespace tokenscope
