// tokenscope-cli: what the window does, without one.
#include "app/cli/command_line.h"
#include "app/cli/commands.h"

#include <exception>

int main(int argc, char** argv)
{
    using namespace tokenscope::cli;
    catchInterrupts();
    try {
        CommandLine line;
        addInspect(line);
        addTokenize(line);
        addRender(line);
        addRun(line);
        addChat(line);
        addPerplexity(line);
        addBench(line);
        addRuns(line);
        addSystem(line);
        line.addAbsent({"compare", "load", "report", "import", "plan", "serve"});
        return line.run(argc, argv);
    } catch (const std::exception& error) {  // out of memory outside the engine's loop; never an abort
        writeError(error.what());
        return kFailed;
    }
}
