#include "tests/support/child_process.h"

#include <array>
#include <csignal>
#include <cstdlib>
#include <stdexcept>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tokenscope::test {
namespace {

struct Pipe {
    Pipe()
    {
        if (::pipe2(ends.data(), O_CLOEXEC) != 0)
            throw std::runtime_error("no pipe can be made");
    }
    ~Pipe()
    {
        closeEnd(0);
        closeEnd(1);
    }
    void closeEnd(std::size_t end)
    {
        if (ends[end] >= 0)
            ::close(ends[end]);
        ends[end] = -1;
    }
    std::array<int, 2> ends{-1, -1};
};

}  // namespace

ChildResult runChild(const std::string& program, const std::vector<std::string>& arguments, const ChildOptions& options)
{
    std::vector<std::string> words{program};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words)
        argv.push_back(word.data());
    argv.push_back(nullptr);

    Pipe in, out, err;
    const pid_t child = ::fork();
    if (child == 0) {
        ::dup2(in.ends[0], 0);
        ::dup2(out.ends[1], 1);
        ::dup2(err.ends[1], 2);
        for (const auto& [name, value] : options.environment)
            ::setenv(name.c_str(), value.c_str(), 1);
        ::execv(program.c_str(), argv.data());
        ::_exit(127);
    }
    in.closeEnd(0);
    out.closeEnd(1);
    err.closeEnd(1);
    ::signal(SIGPIPE, SIG_IGN);  // a child that does not read
    for (std::size_t sent = 0; sent < options.input.size();) {
        const auto count = ::write(in.ends[1], options.input.data() + sent, options.input.size() - sent);
        if (count <= 0)
            break;
        sent += static_cast<std::size_t>(count);
    }
    in.closeEnd(1);

    ChildResult result;
    bool isInterrupted = options.interruptAfter.empty();
    std::array<pollfd, 2> streams{{{out.ends[0], POLLIN, 0}, {err.ends[0], POLLIN, 0}}};
    while (streams[0].fd >= 0 || streams[1].fd >= 0) {
        constexpr int kInterruptEveryMs = 50;
        const bool mayRepeat = options.keepsInterrupting && isInterrupted;
        if (::poll(streams.data(), streams.size(), mayRepeat ? kInterruptEveryMs : -1) == 0)
            ::kill(child, SIGINT);
        for (std::size_t i = 0; i < streams.size(); ++i) {
            if (streams[i].fd < 0 || streams[i].revents == 0)
                continue;
            std::array<char, 65536> bytes;
            const auto count = ::read(streams[i].fd, bytes.data(), bytes.size());
            if (count > 0)
                (i == 0 ? result.out : result.err).append(bytes.data(), static_cast<std::size_t>(count));
            else
                streams[i].fd = -1;
        }
        if (!isInterrupted && result.out.find(options.interruptAfter) != std::string::npos) {
            isInterrupted = true;
            ::kill(child, SIGINT);
        }
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    result.exitCode = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    return result;
}

}  // namespace tokenscope::test
