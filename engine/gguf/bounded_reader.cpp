#include "engine/gguf/bounded_reader.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace tokenscope {
namespace {

// A vocabulary's header is 1 to 10 MB: few system calls, and small enough to stay in the second-level cache.
constexpr std::size_t kBufferBytes = 256 << 10;

}  // namespace

BoundedReader::BoundedReader(int fd, std::uint64_t fileBytes)
    : m_fd(fd), m_fileBytes(fileBytes),
      m_buffer(static_cast<std::size_t>(std::min<std::uint64_t>(kBufferBytes, fileBytes)))
{
}

bool BoundedReader::fill()
{
    m_bufferStart += m_filled;
    m_used = m_filled = 0;
    const std::size_t wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(m_buffer.size(), m_fileBytes - m_bufferStart));
    if (wanted == 0)
        return false;
    ssize_t got = -1;
    do
        got = ::pread(m_fd, m_buffer.data(), wanted, static_cast<off_t>(m_bufferStart));
    while (got < 0 && errno == EINTR);
    if (got < 0)
        m_systemError = errno;
    m_filled = got > 0 ? static_cast<std::size_t>(got) : 0;
    return got > 0;
}

bool BoundedReader::read(void* out, std::size_t byteCount)
{
    if (byteCount > remaining())
        return false;
    auto* to = static_cast<std::byte*>(out);
    while (byteCount > 0) {
        if (m_used == m_filled && !fill())
            return false;
        const std::size_t now = std::min(byteCount, m_filled - m_used);
        std::memcpy(to, m_buffer.data() + m_used, now);
        m_used += now;
        to += now;
        byteCount -= now;
    }
    return true;
}

bool BoundedReader::readText(std::string& out, std::size_t byteCount)
{
    if (m_filled - m_used >= byteCount) {
        out.assign(reinterpret_cast<const char*>(m_buffer.data()) + m_used, byteCount);
        m_used += byteCount;
        return true;
    }
    if (byteCount > remaining())
        return false;
    out.resize(byteCount);
    return read(out.data(), byteCount);
}

}  // namespace tokenscope
