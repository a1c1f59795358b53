#include "engine/gguf/file_descriptor.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace tokenscope {

FileDescriptor::FileDescriptor(int fd, std::string name) : m_fd(fd), m_name(std::move(name)) {}

FileDescriptor::FileDescriptor(FileDescriptor&& other) noexcept
    : m_fd(std::exchange(other.m_fd, -1)), m_name(std::move(other.m_name))
{
}

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept
{
    std::swap(m_fd, other.m_fd);
    std::swap(m_name, other.m_name);
    return *this;
}

FileDescriptor::~FileDescriptor()
{
    if (m_fd >= 0)
        ::close(m_fd);
}

Result<FileDescriptor> FileDescriptor::open(const std::filesystem::path& path)
{
    const std::string name = path.string();
    if (name.empty())
        return fail(ErrorCode::FileAccess, "the path of the model is empty, expected that of a .gguf file");
    int fd = -1;
    do
        fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    while (fd < 0 && errno == EINTR);
    if (fd < 0)
        return fail(ErrorCode::FileAccess, "{} cannot be opened: {}", name, std::strerror(errno));
    FileDescriptor file(fd, name);
    struct stat status{};
    if (::fstat(fd, &status) != 0)
        return fail(ErrorCode::FileAccess, "{} cannot be examined: {}", name, std::strerror(errno));
    if (S_ISDIR(status.st_mode))
        return fail(ErrorCode::FileAccess, "{} is a folder, expected a .gguf file", name);
    if (!S_ISREG(status.st_mode))
        return fail(ErrorCode::FileAccess, "{} is not an ordinary file, expected a .gguf file", name);
    return file;
}

Result<FileDescriptor::State> FileDescriptor::state() const
{
    struct stat status{};
    if (::fstat(m_fd, &status) != 0)
        return fail(ErrorCode::FileAccess, "{} cannot be examined: {}", m_name, std::strerror(errno));
    return State{static_cast<std::uint64_t>(status.st_size),
                 std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec};
}

}  // namespace tokenscope
