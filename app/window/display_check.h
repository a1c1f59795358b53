// Whether a window can be opened at all. Qt aborts where it cannot; this is asked before there is a QApplication.
#pragma once

#include <string>

namespace tokenscope {

// "" if there is (or may be) a display, else a sentence that says what is missing.
std::string missingDisplay(int argc, char** argv);

}  // namespace tokenscope
