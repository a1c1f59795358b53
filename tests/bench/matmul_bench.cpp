// Multiply-adds per second of the matrix products, one thread, by format, instruction set, shape and rows of x.
//
//   matmul_bench --benchmark_filter='Q4_1/avx512/1536x576/' --benchmark_repetitions=7
//                --benchmark_report_aggregates_only=true
//
// "best" is the fastest repetition: on a machine shared with others the one to compare. Quantising is not included.
#include "tests/kernels/matmul_fixture.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>

namespace tokenscope::kernels {
namespace {

struct Shape {
    int rows;
    int cols;
};

void multiply(benchmark::State& state, DType type, Isa isa, Shape shape, int tokens)
{
    std::mt19937 random(1);
    const Packed packed(type, shape.rows, shape.cols, random);
    const std::vector<float> x = randomActivations(tokens, shape.cols, random);
    const MatmulKernels& kernels = matmulKernels(isa);
    const QuantizedRows quantized(kernels, x.data(), tokens, shape.cols, shape.cols);
    std::vector<float> out(static_cast<std::size_t>(tokens) * static_cast<std::size_t>(shape.rows));
    for (auto _ : state) {
        kernels.matmul(packed.matrix, 0, packed.matrix.groupCount(), quantized.activations, out.data(), shape.rows,
                       false);
        benchmark::ClobberMemory();
    }
    const double macs = static_cast<double>(shape.rows) * shape.cols * tokens * 1e-9;
    state.counters["GMAC/s"] = benchmark::Counter(macs, benchmark::Counter::kIsIterationInvariantRate);
    state.counters["GB/s"] = benchmark::Counter(static_cast<double>(packedBytes(type, shape.rows, shape.cols)) * 1e-9,
                                                benchmark::Counter::kIsIterationInvariantRate);
}

void registerAll()
{
    // SmolLM2-135M: gate and up, down, attention output, and the first sixth of the head (larger than the second-level
    // cache in every format).
    constexpr Shape kShapes[] = {{1536, 576}, {576, 1536}, {576, 576}, {8192, 576}};
    for (DType type : kAllDTypes) {
        for (Isa isa : availableIsas()) {
            for (Shape shape : kShapes) {
                // k-quants need columns of a multiple of 256.
                if (shape.cols % dtypeInfo(type).blockElements != 0)
                    shape.cols = shape.cols == 576 ? 512 : shape.cols;
                for (int tokens : {1, 2, 4, 8, 16, 32, 512}) {
                    const std::string name = std::string(dtypeInfo(type).name) + "/" + std::string(isaName(isa)) + "/" +
                                             std::to_string(shape.rows) + "x" + std::to_string(shape.cols) + "/" +
                                             std::to_string(tokens);
                    benchmark::RegisterBenchmark(name.c_str(), multiply, type, isa, shape, tokens)
                        ->ComputeStatistics("best", [](const std::vector<double>& rates) {
                            return *std::max_element(rates.begin(), rates.end());
                        });
                }
            }
        }
    }
}

}  // namespace
}  // namespace tokenscope::kernels

int main(int argc, char** argv)
{
    tokenscope::kernels::registerAll();
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv))
        return 1;
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
