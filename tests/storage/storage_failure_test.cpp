// What the world can do to the database: kill the program, fill the disk, take the rights away, damage the file.
#include "storage/database.h"
#include "storage/schema.h"
#include "storage/storage.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_data.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tokenscope {
namespace {

namespace fs = std::filesystem;
using test::TempFolder;

ConversationRow chatRow(ConversationId id)
{
    return {.id = id, .title = "Chat", .createdMs = 1, .updatedMs = 1};
}

MessageRow textRow(MessageId id, ConversationId conversation, std::string text)
{
    return {.id = id, .conversation = conversation, .role = "user", .text = std::move(text), .createdMs = 1};
}

std::map<std::string, std::string> contents(const fs::path& folder)
{
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::directory_iterator(folder))
        files[entry.path().filename().string()] = test::readFile(entry.path());
    return files;
}

std::vector<std::string> namesWith(const fs::path& folder, const std::string& part)
{
    std::vector<std::string> names;
    for (const auto& [name, bytes] : contents(folder)) {
        if (name.find(part) != std::string::npos)
            names.push_back(name);
    }
    return names;
}

void write(const fs::path& file, std::string_view bytes)
{
    std::ofstream(file, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

std::string integrity(const fs::path& folder)
{
    auto connection = Connection::open(folder / "tokenscope.sqlite", Connection::Access::ReadWrite);
    return connection ? connection->queryText("PRAGMA integrity_check").value_or("?") : connection.error().message;
}

// A process of its own; its exit status is what `work` returns.
pid_t startChild(const std::function<int()>& work)
{
    const pid_t child = ::fork();
    if (child == 0)
        ::_exit(work());
    return child;
}

int exitStatus(pid_t child)
{
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(StorageKilled, LosesNothingThatWasAcknowledgedAndStaysWhole)
{
    TempFolder folder;
    std::mt19937 random(std::random_device{}());
    MessageId lastAcknowledged = 0;
    for (int round = 0; round < 12; ++round) {
        int pipeEnds[2];
        ASSERT_EQ(::pipe(pipeEnds), 0);
        const MessageId first = lastAcknowledged + 1000;
        const pid_t child = startChild([&] {
            const auto storage = Storage::open(folder.path());
            storage->saveConversation(chatRow(1));
            for (MessageId id = first;; ++id) {
                storage->saveMessage(textRow(id, 1, std::string(200, 'x')));
                if (id % 5 == 0)
                    (void)storage->saveRun({.kind = "run", .outputText = "words"});
                if (!storage->flush().get() || ::write(pipeEnds[1], &id, sizeof id) != sizeof id)
                    return 1;
            }
        });
        ::close(pipeEnds[1]);
        MessageId acknowledged = 0;
        ASSERT_EQ(::read(pipeEnds[0], &acknowledged, sizeof acknowledged), static_cast<ssize_t>(sizeof acknowledged));
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 30'000));
        ::kill(child, SIGKILL);
        EXPECT_EQ(exitStatus(child), -SIGKILL);
        while (::read(pipeEnds[0], &acknowledged, sizeof acknowledged) == sizeof acknowledged) {
        }
        ::close(pipeEnds[0]);
        lastAcknowledged = acknowledged;

        const auto storage = Storage::open(folder.path());
        ASSERT_EQ(storage->state(), Storage::State::Ready) << storage->error().message;
        EXPECT_EQ(storage->notice(), "");
        const auto messages = storage->messages(1);
        ASSERT_TRUE(messages);
        EXPECT_GE(messages->back().id, lastAcknowledged);
    }
    EXPECT_EQ(integrity(folder.path()), "ok");
}

TEST(StorageKilled, AnAnswerCutOffByACrashIsStoppedAndFound)
{
    TempFolder folder;
    const pid_t child = startChild([&] {
        const auto storage = Storage::open(folder.path());
        storage->saveConversation(chatRow(1));
        MessageRow answer = textRow(10, 1, "half a sentence");
        answer.state = MessageState::Streaming;
        storage->saveMessage(answer);
        if (!storage->flush().get())
            return 1;
        ::raise(SIGKILL);
        return 2;
    });
    EXPECT_EQ(exitStatus(child), -SIGKILL);
    const auto storage = Storage::open(folder.path());
    EXPECT_EQ(storage->messages(1)->front().state, MessageState::Stopped);
    EXPECT_EQ(storage->conversations("sentence")->size(), 1u);
}

TEST(StorageShared, TwoProcessesWriteAtOnceAndNeitherLosesARow)
{
    TempFolder folder;
    constexpr int kEach = 300;
    std::vector<pid_t> children;
    for (int process = 0; process < 2; ++process)
        children.push_back(startChild([&, process] {
            const auto storage = Storage::open(folder.path());
            storage->saveConversation(chatRow(process + 1));
            for (int i = 0; i < kEach; ++i) {
                storage->saveMessage(textRow(drawId(), process + 1, "text"));
                if (i % 10 == 0 && !storage->saveRun({.kind = "run"}).get())
                    return 1;
            }
            return storage->flush().get() ? 0 : 2;
        }));
    for (pid_t child : children)
        EXPECT_EQ(exitStatus(child), 0);
    const auto storage = Storage::open(folder.path());
    EXPECT_EQ(storage->messages(1)->size(), std::size_t{kEach});
    EXPECT_EQ(storage->messages(2)->size(), std::size_t{kEach});
    EXPECT_EQ(storage->runs()->size(), std::size_t{2 * kEach / 10});
}

// SQLite's own file layer, in which writes fail while `g_diskFull` is set.
std::atomic<bool> g_diskFull{false};

class FullDisk {
public:
    FullDisk()
    {
        s_base = sqlite3_vfs_find(nullptr);
        m_vfs = *s_base;
        m_vfs.zName = "full-disk";
        m_vfs.xOpen = &open;
        sqlite3_vfs_register(&m_vfs, 1);
    }
    ~FullDisk()
    {
        g_diskFull = false;
        sqlite3_vfs_unregister(&m_vfs);
        sqlite3_vfs_register(s_base, 1);
    }

private:
    static int open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* outFlags)
    {
        const int result = s_base->xOpen(s_base, name, file, flags, outFlags);
        if (result == SQLITE_OK && file->pMethods) {
            // Databases and journals have tables of their own; both write with the same function.
            const std::lock_guard lock(s_mutex);
            const auto [entry, isNew] = s_methods.try_emplace(file->pMethods, *file->pMethods);
            s_write = file->pMethods->xWrite;
            entry->second.xWrite = &write;
            file->pMethods = &entry->second;
        }
        return result;
    }
    static int write(sqlite3_file* file, const void* bytes, int count, sqlite3_int64 offset)
    {
        return g_diskFull ? SQLITE_FULL : s_write.load()(file, bytes, count, offset);
    }

    static inline sqlite3_vfs* s_base = nullptr;
    static inline std::mutex s_mutex;
    static inline std::map<const sqlite3_io_methods*, sqlite3_io_methods> s_methods;
    static inline std::atomic<int (*)(sqlite3_file*, const void*, int, sqlite3_int64)> s_write{nullptr};
    sqlite3_vfs m_vfs{};
};

TEST(StorageFullDisk, TellsItOnceAndSavesEverythingWhenThereIsRoomAgain)
{
    TempFolder folder;
    const FullDisk disk;
    const auto storage = Storage::open(folder.path());
    ASSERT_EQ(storage->state(), Storage::State::Ready) << storage->error().message;
    std::vector<Error> told;
    storage->onWriteFailed([&](const Error& error) { told.push_back(error); });
    storage->saveConversation(chatRow(1));
    ASSERT_TRUE(storage->flush().get());

    g_diskFull = true;
    storage->saveMessage(textRow(10, 1, "first"));
    storage->saveMessage(textRow(11, 1, "second"));
    storage->saveMessage(textRow(11, 1, "second, longer"));
    const auto run = storage->saveRun({.kind = "run"}).get();
    const auto flushed = storage->flush().get();
    ASSERT_FALSE(flushed);
    EXPECT_EQ(flushed.error().code, ErrorCode::DiskFull);
    EXPECT_NE(flushed.error().message.find("free some space"), std::string::npos) << flushed.error().message;
    EXPECT_EQ(run.error().code, ErrorCode::DiskFull);
    EXPECT_EQ(told.size(), 2u) << "once for the messages, once for the run";
    EXPECT_TRUE(storage->messages(1)->empty());

    g_diskFull = false;
    ASSERT_TRUE(storage->flush().get());
    const auto messages = storage->messages(1);
    ASSERT_EQ(messages->size(), 2u);
    EXPECT_EQ(messages->at(0).text, "first");
    EXPECT_EQ(messages->at(1).text, "second, longer");
}

TEST(StorageFullDisk, IsAMessageAtTheStartToo)
{
    TempFolder folder;
    const FullDisk disk;
    g_diskFull = true;
    const auto storage = Storage::open(folder.path());
    EXPECT_EQ(storage->state(), Storage::State::Unavailable);
    EXPECT_EQ(storage->error().code, ErrorCode::DiskFull);
}

TEST(StorageFullDisk, AFileSizeLimitIsAMessageAndNoSignal)
{
    TempFolder folder;
    const pid_t child = startChild([&] {
        const auto storage = Storage::open(folder.path());
        storage->saveConversation(chatRow(1));
        if (!storage->flush().get())
            return 1;
        ::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{300'000, 300'000};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        storage->saveMessage(textRow(10, 1, std::string(2'000'000, 'x')));
        const auto flushed = storage->flush().get();
        if (flushed || flushed.error().message.find("tokenscope.sqlite") == std::string::npos)
            return 2;
        storage->saveMessage(textRow(10, 1, "shorter"));  // takes the place of the one that waits
        return storage->flush().get() ? 0 : 3;
    });
    EXPECT_EQ(exitStatus(child), 0);
    const auto storage = Storage::open(folder.path());
    EXPECT_EQ(storage->messages(1)->front().text, "shorter");
}

TEST(StorageReadOnlyFolder, IsAMessageAndNothingIsSaved)
{
    TempFolder folder;
    fs::permissions(folder.path(),
                    fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_read | fs::perms::others_exec);
    const pid_t child = startChild([&] {
        if (::geteuid() == 0 && ::setuid(65534) != 0)  // rights do not bind root: nobody
            return 9;
        const auto storage = Storage::open(folder.path());
        if (storage->state() != Storage::State::Unavailable)
            return 1;
        if (storage->error().code != ErrorCode::FileAccess ||
            storage->error().message.find(folder.path().string()) == std::string::npos)
            return 2;
        storage->saveConversation(chatRow(1));
        if (storage->saveRun({.kind = "run"}).get() || storage->flush().get() || storage->runs())
            return 3;
        return 0;
    });
    EXPECT_EQ(exitStatus(child), 0);
    EXPECT_TRUE(fs::is_empty(folder.path()));
    fs::permissions(folder.path(), fs::perms::owner_all);
}

TEST(StorageReadOnlyFolder, AnExistingDatabaseThatMayNotBeWrittenIsAMessage)
{
    TempFolder folder;
    {
        const auto storage = Storage::open(folder.path());
        storage->saveConversation(chatRow(1));
    }
    const auto before = contents(folder.path());
    fs::permissions(folder.file("tokenscope.sqlite"), fs::perms::owner_read | fs::perms::others_read);
    fs::permissions(folder.path(),
                    fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_read | fs::perms::others_exec);
    const pid_t child = startChild([&] {
        if (::geteuid() == 0 && ::setuid(65534) != 0)
            return 9;
        const auto storage = Storage::open(folder.path());
        return storage->state() == Storage::State::Unavailable && storage->error().code == ErrorCode::FileAccess ? 0
                                                                                                                 : 1;
    });
    EXPECT_EQ(exitStatus(child), 0);
    EXPECT_EQ(contents(folder.path()), before);
    fs::permissions(folder.path(), fs::perms::owner_all);
}

TEST(StorageReadOnlyFolder, AFileInPlaceOfTheFolderIsAMessage)
{
    TempFolder folder;
    write(folder.file("data"), "x");
    const auto storage = Storage::open(folder.file("data"));
    EXPECT_EQ(storage->state(), Storage::State::Unavailable);
    EXPECT_NE(storage->error().message.find("data"), std::string::npos);
}

TEST(StorageNewer, StaysUntouchedByteForByte)
{
    TempFolder folder;
    {
        auto connection = Connection::open(folder.file("tokenscope.sqlite"), Connection::Access::ReadWrite);
        ASSERT_TRUE(connection->execute("CREATE TABLE future (x); PRAGMA user_version=99"));
    }
    const auto before = contents(folder.path());
    {
        const auto storage = Storage::open(folder.path());
        EXPECT_EQ(storage->state(), Storage::State::NewerDatabase);
        EXPECT_EQ(storage->error().code, ErrorCode::NewerDatabase);
        EXPECT_NE(storage->error().message.find("99"), std::string::npos);
        storage->saveConversation(chatRow(1));
        EXPECT_FALSE(storage->saveRun({.kind = "run"}).get());
        EXPECT_FALSE(storage->runs());
    }
    EXPECT_EQ(contents(folder.path()), before);
}

TEST(StorageNewer, IsSeenInTheLogOfAProgramThatWasKilledToo)
{
    TempFolder folder;
    const pid_t child = startChild([&] {
        auto connection = Connection::open(folder.file("tokenscope.sqlite"), Connection::Access::ReadWrite);
        if (!connection->execute("CREATE TABLE future (x); PRAGMA user_version=99"))
            return 1;
        ::raise(SIGKILL);
        return 2;
    });
    EXPECT_EQ(exitStatus(child), -SIGKILL);
    const auto storage = Storage::open(folder.path());
    EXPECT_EQ(storage->state(), Storage::State::NewerDatabase);
}

void expectMovedAside(const TempFolder& folder, const std::string& damagedBytes)
{
    const auto storage = Storage::open(folder.path());
    ASSERT_EQ(storage->state(), Storage::State::Ready) << storage->error().message;
    EXPECT_NE(storage->notice().find("damaged"), std::string::npos) << storage->notice();
    storage->saveConversation(chatRow(1));
    EXPECT_TRUE(storage->flush().get());
    const auto aside = namesWith(folder.path(), "tokenscope.sqlite.damaged-");
    ASSERT_EQ(aside.size(), 1u);
    const std::string kept = test::readFile(folder.file(aside.front()));
    EXPECT_TRUE(kept == damagedBytes) << kept.size() << " bytes, expected " << damagedBytes.size();
}

TEST(StorageDamaged, AFileThatIsNoDatabaseIsKeptAndANewOneBegun)
{
    TempFolder folder;
    const std::string bytes = "this was never a database, " + std::string(5000, '#');
    write(folder.file("tokenscope.sqlite"), bytes);
    expectMovedAside(folder, bytes);
}

TEST(StorageDamaged, AFileShorterThanAPageIsNotTakenForAnEmptyDatabase)
{
    for (std::size_t length : {1u, 63u, 100u, 4000u}) {
        TempFolder folder;
        Storage::open(folder.path());
        const std::string begin = test::readFile(folder.file("tokenscope.sqlite")).substr(0, length);
        write(folder.file("tokenscope.sqlite"), begin);
        expectMovedAside(folder, begin);
    }
}

TEST(StorageDamaged, ATruncatedFileIsKeptAndANewOneBegun)
{
    TempFolder folder;
    {
        const auto storage = Storage::open(folder.path());
        storage->saveConversation(chatRow(1));
        for (int i = 0; i < 200; ++i)
            storage->saveMessage(textRow(10 + i, 1, std::string(1000, 'x')));
    }
    const std::string whole = test::readFile(folder.file("tokenscope.sqlite"));
    const std::string half = whole.substr(0, whole.size() / 2);
    write(folder.file("tokenscope.sqlite"), half);
    EXPECT_NE(Storage::open(folder.path())->notice(), "");
    const auto aside = namesWith(folder.path(), "tokenscope.sqlite.damaged-");
    ASSERT_EQ(aside.size(), 1u);
    // SQLite may have begun to write before it noticed; the texts are there.
    EXPECT_NE(test::readFile(folder.file(aside.front())).find(std::string(1000, 'x')), std::string::npos);
}

TEST(StorageDamaged, APageDamagedInACrashIsFoundAtTheNextStart)
{
    TempFolder folder;
    const pid_t child = startChild([&] {
        const auto storage = Storage::open(folder.path());
        storage->saveConversation(chatRow(1));
        for (int i = 0; i < 200; ++i)
            storage->saveMessage(textRow(10 + i, 1, std::string(1000, 'x')));
        if (!storage->flush().get())
            return 1;
        auto connection = Connection::open(folder.file("tokenscope.sqlite"), Connection::Access::ReadWrite);
        if (!connection->execute("PRAGMA wal_checkpoint(TRUNCATE)"))
            return 2;
        ::raise(SIGKILL);
        return 3;
    });
    EXPECT_EQ(exitStatus(child), -SIGKILL);
    std::string bytes = test::readFile(folder.file("tokenscope.sqlite"));
    ASSERT_GT(bytes.size(), 100'000u);
    for (std::size_t page = bytes.size() / 4096 / 2; page < bytes.size() / 4096 - 2; ++page)
        bytes.replace(page * 4096, 64, std::string(64, '\x7f'));
    write(folder.file("tokenscope.sqlite"), bytes);
    expectMovedAside(folder, bytes);
}

TEST(StorageDamaged, TwoDamagedFilesInOneSecondAreBothKept)
{
    TempFolder folder;
    for (const char* bytes : {"garbage one", "garbage two"}) {
        write(folder.file("tokenscope.sqlite"), bytes + std::string(3000, '.'));
        EXPECT_EQ(Storage::open(folder.path())->state(), Storage::State::Ready);
    }
    EXPECT_EQ(namesWith(folder.path(), ".damaged-").size(), 2u);
}

TEST(StorageMigration, TheStoredFileOfVersionOneKeepsItsRowsAndBecomesSearchable)
{
    TempFolder folder;
    const std::string old = test::readFile(test::dataPath("database_v1.sqlite"));
    ASSERT_FALSE(old.empty());
    write(folder.file("tokenscope.sqlite"), old);
    {
        const auto storage = Storage::open(folder.path());
        ASSERT_EQ(storage->state(), Storage::State::Ready) << storage->error().message;
        ASSERT_EQ(storage->conversations("bridge")->size(), 1u);
        EXPECT_EQ(storage->conversations("old conv")->front().title, "An old conversation");
        EXPECT_EQ(storage->messages(1)->at(1).run, 1);
        EXPECT_EQ(storage->run(1)->outputText, "The old one.");
        storage->saveMessage(textRow(12, 1, "A new one"));
        ASSERT_TRUE(storage->flush().get());
        EXPECT_EQ(storage->conversations("new one")->size(), 1u);
    }
    const auto copies = namesWith(folder.path(), ".backup-v1-");
    ASSERT_EQ(copies.size(), 1u);
    const auto copy = Connection::open(folder.file(copies.front()), Connection::Access::ReadOnly);
    EXPECT_EQ(copy->queryInteger("PRAGMA user_version"), 1);
    EXPECT_EQ(copy->queryInteger("SELECT count(*) FROM messages"), 2);
    EXPECT_EQ(integrity(folder.path()), "ok");
}

TEST(StorageMigration, ANewFileIsOfTheNewestVersionWithoutACopy)
{
    TempFolder folder;
    Storage::open(folder.path());
    const auto connection = Connection::open(folder.file("tokenscope.sqlite"), Connection::Access::ReadOnly);
    EXPECT_EQ(connection->queryInteger("PRAGMA user_version"), schemaVersion());
    EXPECT_TRUE(namesWith(folder.path(), ".backup").empty());
}

}  // namespace
}  // namespace tokenscope
