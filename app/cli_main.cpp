// tokenscope-cli: what the window does, without one.
#include "app/cli/command_line.h"
#include "app/cli/commands.h"

#include <exception>
#include <new>
#include <system_error>

#include <fmt/format.h>

int main(int argc, char** argv)
{
    using namespace tokenscope::cli;
    openStandardStreams();
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
    } catch (const std::bad_alloc&) {  // outside the engine's loop; never an abort
        writeError("the system gave this program no more memory: close other programs or raise the limit (ulimit -v)");
        return kFailed;
    } catch (const std::system_error& error) {
        writeError(fmt::format("the system refused a thread or a file: {}; close other programs or raise the limits "
                               "(ulimit -u, -v)",
                               error.what()));
        return kFailed;
    } catch (const std::exception& error) {
        writeError(fmt::format("internal error: {}", error.what()));
        return kFailed;
    }
}
