#include "app/services/paths.h"

#include <cstdlib>

namespace tokenscope {
namespace {

namespace fs = std::filesystem;

// The XDG specification: a relative value is to be ignored.
fs::path xdgFolder(const char* variable, const char* underHome)
{
    if (const char* value = std::getenv(variable); value && fs::path(value).is_absolute())
        return fs::path(value) / "tokenscope";
    const char* home = std::getenv("HOME");
    return (home && *home ? fs::path(home) : fs::path("/")) / underHome / "tokenscope";
}

}  // namespace

fs::path defaultDataDirectory()
{
    return xdgFolder("XDG_DATA_HOME", ".local/share");
}

fs::path cacheDirectory()
{
    return xdgFolder("XDG_CACHE_HOME", ".cache");
}

fs::path configDirectory()
{
    return xdgFolder("XDG_CONFIG_HOME", ".config");
}

fs::path modelsDirectory()
{
    return defaultDataDirectory() / "models";
}

}  // namespace tokenscope
