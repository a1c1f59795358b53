// The tables and the numbered steps that lead to them. user_version of the file counts the steps that were done.
#pragma once

#include "engine/base/result.h"
#include "storage/database.h"

namespace tokenscope {

// What this program reads and writes. A file with a higher number belongs to a newer program and is left alone.
int schemaVersion();

// Does the steps that are missing, each in a transaction of its own that survives power loss. Two processes may try
// at once: the second finds the step done.
Result<void> migrate(const Connection& connection);

}  // namespace tokenscope
