// Where things live: the XDG folders, the same for the window and the command line.
#pragma once

#include <filesystem>

namespace tokenscope {

std::filesystem::path defaultDataDirectory();  // $XDG_DATA_HOME/tokenscope, else ~/.local/share/tokenscope
std::filesystem::path cacheDirectory();        // $XDG_CACHE_HOME/tokenscope
std::filesystem::path configDirectory();       // $XDG_CONFIG_HOME/tokenscope
std::filesystem::path modelsDirectory();       // defaultDataDirectory()/models

}  // namespace tokenscope
