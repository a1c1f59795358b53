#include "engine/plan/memory_limit.h"

#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace tokenscope {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

// nullopt for "max" and anything else that is no number.
std::optional<std::uint64_t> parseNumber(std::string_view text)
{
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
        text.remove_prefix(1);
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() ? std::optional(number) : std::nullopt;
}

std::optional<std::uint64_t> readNumber(const fs::path& path)
{
    std::ifstream file(path);
    std::string line;
    return std::getline(file, line) ? parseNumber(line) : std::nullopt;
}

// The number after `name` in a file of lines "name number" or "name: number".
std::optional<std::uint64_t> readEntry(const fs::path& path, std::string_view name)
{
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        const std::string_view text = line;
        if (text.starts_with(name) && text.size() > name.size() &&
            (text[name.size()] == ' ' || text[name.size()] == ':'))
            return parseNumber(text.substr(name.size() + 1));
    }
    return std::nullopt;
}

struct GroupFiles {
    const char* limit;
    const char* usage;
    const char* activeFile;  // pages of files that the kernel can drop, counted as usage
    const char* inactiveFile;
};
constexpr GroupFiles kVersion2{"memory.max", "memory.current", "active_file", "inactive_file"};
constexpr GroupFiles kVersion1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_active_file",
                               "total_inactive_file"};

std::uint64_t availableOfGroup(const fs::path& folder, const GroupFiles& files)
{
    const auto limit = readNumber(folder / files.limit);
    if (!limit)
        return kUnlimited;
    const std::uint64_t usage = readNumber(folder / files.usage).value_or(0);
    const fs::path statistics = folder / "memory.stat";
    const std::uint64_t droppable =
        readEntry(statistics, files.activeFile).value_or(0) + readEntry(statistics, files.inactiveFile).value_or(0);
    const std::uint64_t held = usage - std::min(usage, droppable);
    return *limit - std::min(*limit, held);
}

// A group is bound by all above it too. In a container the folders above may not be visible, or the group's own folder
// may be the root: what is not there does not count.
std::uint64_t availableUpwards(const fs::path& root, fs::path group, const GroupFiles& files)
{
    std::uint64_t least = availableOfGroup(root, files);
    for (group = group.relative_path(); !group.empty(); group = group.parent_path())
        least = std::min(least, availableOfGroup(root / group, files));
    return least;
}

bool listsMemory(std::string_view controllers)
{
    while (!controllers.empty()) {
        const std::size_t comma = controllers.find(',');
        if (controllers.substr(0, comma) == "memory")
            return true;
        controllers.remove_prefix(comma == std::string_view::npos ? controllers.size() : comma + 1);
    }
    return false;
}

// `ulimit -v`, less what is mapped already.
std::uint64_t availableOfAddressSpace(const fs::path& procFolder)
{
    struct rlimit limit{};
    if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return kUnlimited;
    const std::uint64_t mappedBytes = readEntry(procFolder / "self" / "status", "VmSize").value_or(0) * 1024;
    return limit.rlim_cur - std::min<std::uint64_t>(limit.rlim_cur, mappedBytes);
}

}  // namespace

LinuxMemoryLimit::LinuxMemoryLimit(fs::path procFolder, fs::path groupFolder)
    : m_procFolder(std::move(procFolder)), m_groupFolder(std::move(groupFolder))
{
}

std::uint64_t LinuxMemoryLimit::availableOfMachine() const
{
    const auto kibibytes = readEntry(m_procFolder / "meminfo", "MemAvailable");
    return kibibytes ? *kibibytes * 1024 : kUnlimited;
}

std::uint64_t LinuxMemoryLimit::availableOfGroups() const
{
    std::uint64_t least = kUnlimited;
    std::ifstream file(m_procFolder / "self" / "cgroup");
    // Lines "number:controllers:path"; version 2 has the number 0 and no controllers.
    for (std::string line; std::getline(file, line);) {
        const std::size_t first = line.find(':');
        const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
        if (second == std::string::npos)
            continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        const fs::path group = line.substr(second + 1);
        if (controllers.empty())
            least = std::min(least, availableUpwards(m_groupFolder, group, kVersion2));
        else if (listsMemory(controllers))
            least = std::min(least, availableUpwards(m_groupFolder / "memory", group, kVersion1));
    }
    return least;
}

std::uint64_t LinuxMemoryLimit::availableBytes() const
{
    return std::min({availableOfMachine(), availableOfGroups(), availableOfAddressSpace(m_procFolder)});
}

const MemoryLimit& systemMemoryLimit()
{
    static const LinuxMemoryLimit limit("/proc", "/sys/fs/cgroup");
    return limit;
}

}  // namespace tokenscope
