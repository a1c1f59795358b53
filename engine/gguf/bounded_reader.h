// Reads a file's header front to back through a buffer. Never asks for bytes beyond the size the file had when it was
// opened, and never through a mapping, so that a file that shrinks meanwhile gives an error instead of a signal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tokenscope {

class BoundedReader {
public:
    // `fd` is not owned and must stay open as long as the reader is used.
    BoundedReader(int fd, std::uint64_t fileBytes);

    std::uint64_t position() const { return m_bufferStart + m_used; }
    std::uint64_t remaining() const { return m_fileBytes - position(); }
    std::uint64_t fileBytes() const { return m_fileBytes; }

    // False, with nothing consumed that matters any more, if fewer bytes remain or the file cannot be read.
    bool read(void* out, std::size_t byteCount);
    // The caller has compared `byteCount` with remaining() and its own limit.
    bool readText(std::string& out, std::size_t byteCount);

    template <typename T>
    bool readValue(T& out)
    {
        return read(&out, sizeof out);
    }

    // errno of a failed read; 0: the file ended early.
    int systemError() const { return m_systemError; }

private:
    bool fill();

    int m_fd;
    std::uint64_t m_fileBytes;
    std::uint64_t m_bufferStart = 0;  // offset in the file of m_buffer[0]
    std::size_t m_used = 0;           // bytes of m_buffer already handed out
    std::size_t m_filled = 0;
    int m_systemError = 0;
    std::vector<std::byte> m_buffer;
};

}  // namespace tokenscope
