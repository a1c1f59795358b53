// The commands of cli.md that this build has, each in a file of its own.
#pragma once

namespace tokenscope::cli {

class CommandLine;

void addInspect(CommandLine& line);
void addTokenize(CommandLine& line);
void addRender(CommandLine& line);
void addRun(CommandLine& line);
void addChat(CommandLine& line);
void addPerplexity(CommandLine& line);
void addBench(CommandLine& line);
void addRuns(CommandLine& line);
void addSystem(CommandLine& line);

}  // namespace tokenscope::cli
