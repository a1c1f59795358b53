// From a folder to a database that is whole, of our version, and open for writing; or to the reason why not.
#pragma once

#include "engine/base/result.h"
#include "storage/database.h"

#include <filesystem>
#include <string>

namespace tokenscope {

struct OpenedDatabase {
    Connection writer;
    std::string notice;  // "" or what was done to a damaged file
};

// NewerDatabase (the file was not touched), FileAccess, DiskFull … as they come. A damaged file is moved aside and a
// new one begun. Enters this process among the sessions; where it is the only one, finishes what crashed ones left
// behind.
Result<OpenedDatabase> openDatabase(const std::filesystem::path& dataDirectory);

void leaveSession(const Connection& writer);  // the orderly end

}  // namespace tokenscope
