// Runs a program to its end and keeps what it wrote.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace tokenscope::test {

struct ChildResult {
    int exitCode = 0;  // −N: ended by signal N
    std::string out;
    std::string err;
};

struct ChildOptions {
    std::string input;                               // its standard input
    std::map<std::string, std::string> environment;  // in addition to ours
    std::string interruptAfter;                      // SIGINT once this was written to stdout; empty = never
    bool keepsInterrupting = false;                  // and again every 50 ms until it ends
};

// No shell: arguments arrive as they are.
ChildResult runChild(const std::string& program, const std::vector<std::string>& arguments,
                     const ChildOptions& options = {});

}  // namespace tokenscope::test
