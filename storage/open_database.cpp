#include "storage/open_database.h"

#include "storage/chat_rows.h"
#include "storage/schema.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fstream>
#include <optional>
#include <sstream>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace tokenscope {
namespace {

namespace fs = std::filesystem;

// Held while a database is opened, so that of two processes that find it damaged or old only one acts.
class FolderLock {
public:
    explicit FolderLock(const fs::path& folder)
        : m_descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC))
    {
        if (m_descriptor >= 0)
            ::flock(m_descriptor, LOCK_EX);
    }
    ~FolderLock()
    {
        if (m_descriptor >= 0)
            ::close(m_descriptor);
    }
    FolderLock(const FolderLock&) = delete;
    FolderLock& operator=(const FolderLock&) = delete;

private:
    int m_descriptor;
};

std::string dateNow()
{
    return fmt::format("{:%Y%m%d-%H%M%S}", fmt::gmtime(std::time(nullptr)));
}

// Numbered where two happen in the same second.
fs::path freePath(const fs::path& file, std::string_view suffix)
{
    const std::string wanted = fmt::format("{}.{}-{}", file.string(), suffix, dateNow());
    fs::path path = wanted;
    std::error_code ignored;
    for (int number = 2; fs::exists(fs::symlink_status(path, ignored)); ++number)
        path = fmt::format("{}-{}", wanted, number);
    return path;
}

// A link and an unlink: unlike rename it fails where the new name exists.
bool moveWithoutOverwriting(const fs::path& from, const fs::path& to)
{
    return ::link(from.c_str(), to.c_str()) == 0 && ::unlink(from.c_str()) == 0;
}

struct FileHeader {
    bool isDamaged = false;
    std::uint32_t version = 0;  // user_version as of the last checkpoint
};

// Looks without SQLite touching anything. SQLite takes a file that is shorter than a page for an empty database and
// would write over it, whatever it holds: that is found here.
FileHeader readHeader(const fs::path& file)
{
    std::error_code problem;
    const auto bytes = fs::file_size(file, problem);
    if (problem || bytes == 0)
        return {};
    std::array<unsigned char, 64> header{};
    std::ifstream stream(file, std::ios::binary);
    if (!stream)
        return {};  // not readable: opening it will say why
    if (!stream.read(reinterpret_cast<char*>(header.data()), header.size()) ||
        std::memcmp(header.data(), "SQLite format 3", 16) != 0)
        return {.isDamaged = true};
    const std::uint32_t pageBytes = std::uint32_t{header[16]} << 8 | header[17];
    const std::uint32_t version =
        std::uint32_t{header[60]} << 24 | std::uint32_t{header[61]} << 16 | std::uint32_t{header[62]} << 8 | header[63];
    return {.isDamaged = bytes < (pageBytes == 1 ? 65536 : pageBytes), .version = version};
}

Error newerError(const fs::path& file, std::int64_t version)
{
    return Error{
        ErrorCode::NewerDatabase,
        fmt::format("{}: was written by a newer version of the program (database version {}, this one knows up to "
                    "{}); it stays untouched and nothing is saved: update the program or use another --data-dir",
                    file.string(), version, schemaVersion()),
        {file.string(), std::to_string(version), std::to_string(schemaVersion())}};
}

// Clock ticks since boot at which a process began; nullopt: there is no such process (or no /proc).
std::optional<std::int64_t> processStart(std::int64_t pid)
{
    std::ifstream stream(fmt::format("/proc/{}/stat", pid));
    std::string line;
    if (!std::getline(stream, line))
        return std::nullopt;
    const auto nameEnd = line.rfind(')');  // the name may hold spaces and parentheses
    if (nameEnd == std::string::npos)
        return std::nullopt;
    std::istringstream fields(line.substr(nameEnd + 1));
    std::string field;
    for (int number = 3; number <= 22; ++number)  // proc(5): the name is field 2, starttime field 22
        fields >> field;
    return std::strtoll(field.c_str(), nullptr, 10);
}

struct Sessions {
    int living = 0;
    int dead = 0;
};

Result<Sessions> sortSessions(const Connection& connection)
{
    Sessions sessions;
    std::vector<std::pair<std::int64_t, std::int64_t>> dead;
    {
        auto list = connection.prepare("SELECT pid, started FROM sessions");
        if (!list)
            return tl::unexpected(list.error());
        for (;;) {
            const auto row = list->step();
            if (!row)
                return tl::unexpected(row.error());
            if (!*row)
                break;
            if (processStart(list->integer(0)) == list->integer(1))
                ++sessions.living;
            else
                dead.emplace_back(list->integer(0), list->integer(1));
        }
    }
    sessions.dead = static_cast<int>(dead.size());
    for (const auto& [pid, started] : dead) {
        auto removal = connection.prepare("DELETE FROM sessions WHERE pid=? AND started=?");
        if (!removal)
            return tl::unexpected(removal.error());
        if (auto done = removal->bind(pid).bind(started).run(); !done)
            return tl::unexpected(done.error());
    }
    return sessions;
}

// What waits for a moment when nobody else has the database open.
Result<void> enterSession(const Connection& connection)
{
    auto transaction = Transaction::begin(connection);
    if (!transaction)
        return tl::unexpected(transaction.error());
    const auto sessions = sortSessions(connection);
    if (!sessions)
        return tl::unexpected(sessions.error());
    if (sessions->dead > 0) {
        const auto verdict = connection.queryText("PRAGMA quick_check(1)");
        if (!verdict)
            return tl::unexpected(verdict.error());
        if (*verdict != "ok")
            return fail(ErrorCode::DamagedDatabase, "{}: {}", connection.path().string(), *verdict);
    }
    if (sessions->living == 0) {
        if (auto done = tidyChats(connection); !done)
            return done;
    }
    auto entry = connection.prepare("INSERT OR IGNORE INTO sessions VALUES (?, ?)");
    if (!entry)
        return tl::unexpected(entry.error());
    const std::int64_t pid = ::getpid();
    if (auto done = entry->bind(pid).bind(processStart(pid).value_or(0)).run(); !done)
        return done;
    return transaction->commit();
}

Result<Connection> openOnce(const fs::path& file)
{
    const FileHeader header = readHeader(file);
    if (header.isDamaged)
        return fail(ErrorCode::DamagedDatabase, "{}: is not an SQLite database", file.string());
    if (header.version > static_cast<std::uint32_t>(schemaVersion()))
        return tl::unexpected(newerError(file, header.version));
    std::error_code ignored;
    if (fs::exists(file.string() + "-wal", ignored)) {
        // A newer program may have died with its version still in the log: look before anything is written.
        auto reader = Connection::open(file, Connection::Access::ReadOnly);
        const auto version = reader ? reader->queryInteger("PRAGMA user_version") : Result<std::int64_t>(0);
        if (version && *version > schemaVersion())
            return tl::unexpected(newerError(file, *version));
    }

    auto connection = Connection::open(file, Connection::Access::ReadWrite);
    if (!connection)
        return connection;
    const auto version = connection->queryInteger("PRAGMA user_version");
    if (!version)
        return tl::unexpected(version.error());
    if (*version > 0 && *version < schemaVersion()) {
        if (auto done = connection->backupTo(freePath(file, fmt::format("backup-v{}", *version))); !done)
            return tl::unexpected(done.error());
    }
    if (*version < schemaVersion()) {
        if (auto done = migrate(*connection); !done)
            return tl::unexpected(done.error());
    }
    if (auto done = enterSession(*connection); !done)
        return tl::unexpected(done.error());
    return connection;
}

Result<std::string> moveAside(const fs::path& file, const Error& why)
{
    const fs::path aside = freePath(file, "damaged");
    if (!moveWithoutOverwriting(file, aside))
        return fail(ErrorCode::DamagedDatabase, "{}: is damaged and could not be renamed to {}: {}; nothing is saved",
                    file.string(), aside.filename().string(), std::strerror(errno));
    // The log belongs to the file and is found by its name; without it, it would be played into the new one.
    for (const char* ending : {"-wal", "-shm"}) {
        std::error_code ignored;
        const fs::path from = file.string() + ending;
        if (fs::exists(from, ignored) && !moveWithoutOverwriting(from, aside.string() + ending))
            return fail(ErrorCode::FileAccess, "{}: belongs to a damaged database and could not be renamed: {}",
                        from.string(), std::strerror(errno));
    }
    return fmt::format("The database was damaged ({}). It was kept as {}, and a new one was begun.", why.message,
                       aside.string());
}

}  // namespace

Result<OpenedDatabase> openDatabase(const fs::path& dataDirectory)
{
    std::error_code problem;
    fs::create_directories(dataDirectory, problem);
    if (problem || !fs::is_directory(dataDirectory, problem))
        return fail(ErrorCode::FileAccess, "{}: the data folder cannot be made: {}; chats and runs are not saved",
                    dataDirectory.string(), problem ? problem.message() : "it is not a folder");
    const fs::path file = dataDirectory / "tokenscope.sqlite";
    const FolderLock lock(dataDirectory);

    auto connection = openOnce(file);
    if (connection)
        return OpenedDatabase{std::move(*connection), ""};
    if (connection.error().code != ErrorCode::DamagedDatabase)
        return tl::unexpected(connection.error());

    const auto notice = moveAside(file, connection.error());
    if (!notice)
        return tl::unexpected(notice.error());
    connection = openOnce(file);
    if (!connection)
        return tl::unexpected(connection.error());
    return OpenedDatabase{std::move(*connection), *notice};
}

void leaveSession(const Connection& writer)
{
    const std::int64_t pid = ::getpid();
    auto removal = writer.prepare("DELETE FROM sessions WHERE pid=? AND started=?");
    if (removal)
        (void)removal->bind(pid).bind(processStart(pid).value_or(0)).run();  // left behind: the next open checks
}

}  // namespace tokenscope
