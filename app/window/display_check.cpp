#include "app/window/display_check.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <string_view>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace tokenscope {
namespace {

bool isSet(const char* variable)
{
    const char* value = std::getenv(variable);
    return value && *value;
}

// X listens on a file and, on Linux, on the same name in the abstract space.
bool answers(const std::string& path, bool abstract)
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() + 2 > sizeof(address.sun_path))
        return false;
    std::memcpy(address.sun_path + (abstract ? 1 : 0), path.data(), path.size());
    const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket < 0)
        return false;
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
    const bool connected = ::connect(socket, reinterpret_cast<const sockaddr*>(&address), length) == 0;
    ::close(socket);
    return connected;
}

}  // namespace

std::string missingDisplay(int argc, char** argv)
{
    for (int i = 1; i < argc; ++i)
        if (std::string_view(argv[i]).find("-platform") != std::string_view::npos)
            return {};
    if (isSet("QT_QPA_PLATFORM") || isSet("WAYLAND_DISPLAY"))
        return {};
    if (!isSet("DISPLAY"))
        return "there is no display: neither DISPLAY nor WAYLAND_DISPLAY is set; tokenscope-cli chat MODEL answers in "
               "the terminal";
    std::string_view display = std::getenv("DISPLAY");
    if (!display.starts_with(':'))
        return {};  // another machine's, or a forwarded one: Qt finds out
    display.remove_prefix(1);
    const std::string path = fmt::format("/tmp/.X11-unix/X{}", display.substr(0, display.find('.')));
    if (answers(path, false) || answers(path, true))
        return {};
    return fmt::format("the display :{} does not answer; tokenscope-cli chat MODEL answers in the terminal", display);
}

}  // namespace tokenscope
