// An open file of the system, read only; closed with its owner.
#pragma once

#include "engine/base/result.h"

#include <cstdint>
#include <filesystem>
#include <string>

namespace tokenscope {

class FileDescriptor {
public:
    // FileAccess with the system's reason; also for folders, pipes and devices (opening never waits).
    static Result<FileDescriptor> open(const std::filesystem::path& path);

    FileDescriptor(FileDescriptor&& other) noexcept;
    FileDescriptor& operator=(FileDescriptor&& other) noexcept;
    ~FileDescriptor();

    int fd() const { return m_fd; }

    struct State {
        std::uint64_t bytes = 0;
        std::int64_t modifiedNs = 0;
    };
    Result<State> state() const;  // now, not when it was opened

private:
    FileDescriptor(int fd, std::string name);

    int m_fd = -1;
    std::string m_name;  // for messages
};

}  // namespace tokenscope
