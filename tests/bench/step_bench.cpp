// Milliseconds a step of a published model takes, by instruction set and rows; the least of the repetitions counts on a
// machine shared with others.
//
//   step_bench MODEL.gguf [THREADS] [REPETITIONS] [ISA] [PART OF A STEP'S NAME]
#include "engine/gguf/gguf_file.h"
#include "engine/model/model.h"
#include "kernels/cpu/cpu_backend.h"
#include "tests/bench/step_plans.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>

namespace tokenscope::kernels {
namespace {

using bench::makeStepPlan;
using bench::StepKind;

double leastMilliseconds(DeviceModel& device, const StepPlan& plan, int repetitions)
{
    double least = std::numeric_limits<double>::max();
    for (int i = 0; i < repetitions; ++i) {
        const auto start = std::chrono::steady_clock::now();
        const auto result = device.runStep(plan, nullptr);
        if (!result) {
            std::fprintf(stderr, "%s\n", result.error().message.c_str());
            std::exit(1);
        }
        least = std::min(least,
                         std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    }
    return least;
}

int run(const char* path, int threads, int repetitions, std::string_view onlyIsa, std::string_view onlyStep)
{
    const auto file = GgufFile::open(path);
    if (!file) {
        std::fprintf(stderr, "%s\n", file.error().message.c_str());
        return 2;
    }
    const auto mapping = file->map();
    const auto program = mapping ? buildLayerProgram(*file, **mapping) : tl::unexpected(mapping.error());
    if (!program) {
        std::fprintf(stderr, "%s\n", program.error().message.c_str());
        return 2;
    }
    for (const Isa isa : availableIsas()) {
        if (!onlyIsa.empty() && onlyIsa != isaName(isa))
            continue;
        const auto backend = makeCpuBackend({isa, threads});
        if (!backend) {
            std::fprintf(stderr, "%s\n", backend.error().message.c_str());
            return 2;
        }
        const auto start = std::chrono::steady_clock::now();
        const auto device = (*backend)->load(*program, {});
        if (!device || !(*device)->reserveCache({1024, CacheType::F16})) {
            std::fprintf(stderr, "%s: cannot be loaded\n", path);
            return 2;
        }
        std::printf("%s: loaded in %.0f ms\n", (*backend)->description().c_str(),
                    std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
        const auto report = [&](const char* what, StepKind kind, int rows, int past, int times) {
            if (std::string_view(what).find(onlyStep) == std::string_view::npos)
                return;
            const double ms = leastMilliseconds(**device, makeStepPlan(kind, rows, past, program->vocabulary), times);
            std::printf("  %-28s %8.2f ms a step, %7.1f tokens/s\n", what, ms, rows / ms * 1e3);
            std::fflush(stdout);
        };
        const int few = std::max(1, repetitions / 10);
        report("1 row at 64", StepKind::Decode, 1, 64, repetitions);
        report("1 row at 4096", StepKind::Decode, 1, 4096, repetitions);
        report("4 sequences at 64", StepKind::Decode, 4, 64, repetitions);
        report("8 sequences at 64", StepKind::Decode, 8, 64, repetitions);
        report("32 sequences at 64", StepKind::Decode, 32, 64, std::max(1, repetitions / 3));
        report("prompt of 512", StepKind::Prompt, 512, 0, few);
    }
    return 0;
}

}  // namespace
}  // namespace tokenscope::kernels

int main(int argc, char** argv)
{
    if (argc < 2) {
        std::fprintf(stderr, "usage: step_bench MODEL.gguf [THREADS] [REPETITIONS] [ISA] [STEP]\n");
        return 1;
    }
    const int threads = argc > 2 ? std::atoi(argv[2]) : tokenscope::kernels::physicalCores();
    const int repetitions = argc > 3 ? std::atoi(argv[3]) : 50;
    return tokenscope::kernels::run(argv[1], threads, std::max(repetitions, 1), argc > 4 ? argv[4] : "",
                                    argc > 5 ? argv[5] : "");
}
