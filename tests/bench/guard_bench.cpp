// The guards on speed: each benchmark's `value` is a share of what this machine shows in the same process, or a ratio
// of two steps, and is judged by guard_table.cpp. By hand or `ninja bench`, on a quiet machine:
//
//   guard_bench [--benchmark_filter='step/'] …   exit code 1 if a guard does not hold
//   guard_bench --smoke                          a tiny model and a moment each: only that all of it runs
#include "engine/gguf/gguf_file.h"
#include "engine/model/model.h"
#include "kernels/cpu/ceilings.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/kv_cache.h"
#include "tests/bench/guard_table.h"
#include "tests/bench/step_plans.h"
#include "tests/kernels/matmul_fixture.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_model.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace tokenscope::bench {
namespace {

using namespace kernels;

using Clock = std::chrono::steady_clock;

// Without what it needs a guard cannot be measured, and a guard that is silently left out guards nothing.
template <typename Expected>
auto need(Expected result)
{
    if (!result) {
        std::fprintf(stderr, "guard_bench: %s\n", result.error().message.c_str());
        std::exit(2);
    }
    if constexpr (!std::is_void_v<typename Expected::value_type>)
        return std::move(*result);
}

// The least of many short times: what the machine can do, as the ceilings are measured too.
class LeastSeconds {
public:
    template <typename Work>
    void time(const Work& work)
    {
        const auto start = Clock::now();
        work();
        benchmark::ClobberMemory();
        m_least = std::min(m_least, std::chrono::duration<double>(Clock::now() - start).count());
    }
    double value() const { return m_least; }

private:
    double m_least = std::numeric_limits<double>::infinity();
};

// Measured once per instruction set and number of threads, when the first benchmark asks.
const Ceilings& ceilingsOf(Isa isa, int threads)
{
    static std::map<std::pair<Isa, int>, Ceilings> known;
    const auto found = known.find({isa, threads});
    if (found != known.end())
        return found->second;
    return known.emplace(std::pair{isa, threads}, need(measureCeilings({isa, threads}))).first->second;
}

// SmolLM2's gate and up together fit no first-level cache and every second-level one in 4 bit; k-quants need rows of a
// multiple of 256.
constexpr int kMatrixRows = 1536;
constexpr int kMatrixCols = 576;
constexpr int kMatrixColsOfSuperBlocks = 512;

void matmulShare(benchmark::State& state, DType type, Isa isa, int tokens)
{
    const int cols = dtypeInfo(type).blockElements > 32 ? kMatrixColsOfSuperBlocks : kMatrixCols;
    std::mt19937 random(1);
    const Packed packed(type, kMatrixRows, cols, random);
    const std::vector<float> x = randomActivations(tokens, cols, random);
    const MatmulKernels& kernels = matmulKernels(isa);
    const QuantizedRows quantized(kernels, x.data(), tokens, cols, cols);
    std::vector<float> out(static_cast<std::size_t>(tokens) * kMatrixRows);
    LeastSeconds least;
    for (auto _ : state) {
        least.time([&] {
            kernels.matmul(packed.matrix, 0, packed.matrix.groupCount(), quantized.activations, out.data(), kMatrixRows,
                           false);
        });
    }
    const Ceilings& peak = ceilingsOf(isa, 1);
    const bool dotProducts = isa != Isa::Avx2 && !needsFloatActivations(type);
    const double products = static_cast<double>(kMatrixRows) * cols * tokens / least.value();
    state.counters["value"] = products / (dotProducts ? peak.int8MacsPerSecond : peak.f32MacsPerSecond);
}

// A full tile of query rows against 512 keys in f16, as a prompt of SmolLM2 has it: one layer, one head, one thread.
void attentionShare(benchmark::State& state, Isa isa)
{
    constexpr int kHeadDim = 64;
    constexpr int kTokens = 512;
    const StepKernels& kernels = stepKernels(isa);
    const KvCache cache = need(KvCache::allocate({1, 1, kHeadDim, kHeadDim}, {kTokens / kBlockTokens, CacheType::F16}));
    std::mt19937 random(1);
    const std::vector<float> data = randomActivations(kTokens + 2 * kTileRows, kHeadDim, random);
    std::vector<float> out(kTileRows * kHeadDim);
    std::vector<float> scratch(attentionScratchFloats(kHeadDim, kHeadDim));
    std::vector<std::int32_t> table;
    for (int t = 0; t < kTokens; ++t) {
        cache.writeKey(kernels, 0, 0, t / kBlockTokens, t % kBlockTokens,
                       &data[static_cast<std::size_t>(t) * kHeadDim]);
        cache.writeValue(kernels, 0, 0, t / kBlockTokens, t % kBlockTokens,
                         &data[static_cast<std::size_t>(t) * kHeadDim]);
        if (t % kBlockTokens == 0)
            table.push_back(t / kBlockTokens);
    }
    AttentionTile tile;
    tile.rows = kTileRows;
    for (int row = 0; row < kTileRows; ++row) {
        tile.query[row] = &data[static_cast<std::size_t>(kTokens + row) * kHeadDim];
        tile.out[row] = &out[static_cast<std::size_t>(row) * kHeadDim];
        tile.firstKey[row] = 0;
        tile.lastKey[row] = kTokens - 1;
    }
    tile.keys = cache.tile(0, 0);
    tile.blockStride = cache.blockStride();
    tile.valueOffset = cache.valueOffset();
    tile.blockTable = table.data();
    tile.type = cache.type();
    tile.headDimK = tile.headDimV = kHeadDim;
    tile.scale = 1.0f / std::sqrt(static_cast<float>(kHeadDim));
    tile.scratch = scratch.data();
    LeastSeconds least;
    for (auto _ : state)
        least.time([&] { kernels.attend(tile); });
    const double products = 2.0 * kTileRows * kHeadDim * kTokens / least.value();
    state.counters["value"] = products / ceilingsOf(isa, 1).f32MacsPerSecond;
}

// A model of random weights, so that the guards need no file: SmolLM2-135M's shape and formats.
test::TestModelSpec guardModel(bool smoke)
{
    test::TestModelSpec spec;
    spec.context = 8192;
    if (smoke)
        return spec;
    spec.layers = 30;
    spec.embedding = 576;
    spec.heads = 9;
    spec.kvHeads = 3;
    spec.headDim = 64;
    spec.feedForward = 1536;
    spec.type = DType::Q4_1;
    spec.embeddingType = DType::Q8_0;
    spec.vocabularySize = 49'152;
    return spec;
}

constexpr int kShortContext = 64;
constexpr int kLongContext = 4096;
constexpr int kCacheTokens = kLongContext + 2 * kBlockTokens;  // 32 short sequences take 32 · 96 tokens

class StepModel {
public:
    StepModel(const test::TestModelSpec& spec, Isa isa) : m_isa(isa), m_threads(physicalCores())
    {
        const test::TempFolder folder;
        const auto path = folder.path() / "guard.gguf";
        test::makeTestModel(spec).write(path);
        const auto file = need(GgufFile::open(path));
        const auto mapping = need(file.map());
        const LayerProgram program = need(buildLayerProgram(file, *mapping));
        m_vocabulary = program.vocabulary;
        m_device = need(need(makeCpuBackend({isa, m_threads}))->load(program, {}));
        need(m_device->reserveCache({kCacheTokens / kBlockTokens, CacheType::F16}));
    }

    // Turn by turn, so that a slow moment of the machine meets both; least seconds of each.
    std::pair<double, double> leastOf(benchmark::State& state, const StepPlan& a, const StepPlan& b)
    {
        LeastSeconds leastA, leastB;
        for (auto _ : state) {
            leastA.time([&] { need(m_device->runStep(a, nullptr)); });
            leastB.time([&] { need(m_device->runStep(b, nullptr)); });
        }
        return {leastA.value(), leastB.value()};
    }

    StepPlan decode(int sequences, int past) const
    {
        return makeStepPlan(StepKind::Decode, sequences, past, m_vocabulary);
    }
    double weightBytes() const { return static_cast<double>(m_device->memory().weightBytes); }
    const Ceilings& ceilings() const { return ceilingsOf(m_isa, m_threads); }

private:
    Isa m_isa;
    int m_threads;
    int m_vocabulary = 0;
    std::unique_ptr<DeviceModel> m_device;
};

StepModel& modelFor(Isa isa, bool smoke)
{
    static std::map<Isa, std::unique_ptr<StepModel>> loaded;
    auto& model = loaded[isa];
    if (!model)
        model = std::make_unique<StepModel>(guardModel(smoke), isa);
    return *model;
}

// Every weight once a step (a tied head is the embedding table) over the read test of as many threads.
void decodeBytes(benchmark::State& state, Isa isa, bool smoke)
{
    StepModel& model = modelFor(isa, smoke);
    const StepPlan plan = model.decode(1, 0);
    const double seconds = model.leastOf(state, plan, plan).first;
    state.counters["value"] = model.weightBytes() / seconds / model.ceilings().readBytesPerSecond;
}

void fourRows(benchmark::State& state, Isa isa, bool smoke)
{
    StepModel& model = modelFor(isa, smoke);
    const auto [one, four] = model.leastOf(state, model.decode(1, kShortContext), model.decode(4, kShortContext));
    state.counters["value"] = four / one;
}

void manySequences(benchmark::State& state, Isa isa, bool smoke)
{
    StepModel& model = modelFor(isa, smoke);
    const auto [one, many] = model.leastOf(state, model.decode(1, kShortContext), model.decode(32, kShortContext));
    state.counters["value"] = 32 * one / many;
}

void longContext(benchmark::State& state, Isa isa, bool smoke)
{
    StepModel& model = modelFor(isa, smoke);
    const auto [empty, full] = model.leastOf(state, model.decode(1, 0), model.decode(1, kLongContext));
    state.counters["value"] = empty / full;
}

void registerAll(bool smoke)
{
    const auto seconds = [smoke](double wanted) { return smoke ? 1e-4 : wanted; };
    constexpr double kKernelSeconds = 0.1;
    constexpr double kStepSeconds = 1.0;
    for (const Isa isa : availableIsas()) {
        if (isa == Isa::Scalar)  // the plain twin of the others: nobody chooses it for its speed
            continue;
        const std::string set(isaName(isa));
        for (const DType type : kAllDTypes) {
            for (const int tokens : {1, 4, 8, 512}) {
                const std::string name =
                    "matmul/" + set + "/" + std::string(dtypeInfo(type).name) + "/" + std::to_string(tokens);
                benchmark::RegisterBenchmark(name.c_str(), matmulShare, type, isa, tokens)
                    ->MinTime(seconds(kKernelSeconds));
            }
        }
        benchmark::RegisterBenchmark(("attention/" + set).c_str(), attentionShare, isa)
            ->MinTime(seconds(kKernelSeconds));
        const auto step = [&](const char* name, void (*measure)(benchmark::State&, Isa, bool)) {
            benchmark::RegisterBenchmark(("step/" + set + "/" + name).c_str(), measure, isa, smoke)
                ->Unit(benchmark::kMillisecond)
                ->MinTime(seconds(kStepSeconds));
        };
        step("decode-bytes", decodeBytes);
        step("4-rows-over-1", fourRows);
        step("32-sequences-over-1", manySequences);
        step("context-4096-over-0", longContext);
    }
}

class Judge : public benchmark::BenchmarkReporter {
public:
    bool ReportContext(const Context&) override { return true; }

    void ReportRuns(const std::vector<Run>& runs) override
    {
        for (const Run& run : runs) {
            if (run.run_type != Run::RT_Iteration)
                continue;
            ++m_measured;
            const std::string name = run.run_name.function_name;
            const Guard* const guard = guardFor(name);
            const auto value = run.counters.find("value");
            if (run.error_occurred || guard == nullptr || value == run.counters.end() ||
                !std::isfinite(value->second.value) || value->second.value <= 0.0) {
                std::printf("%-40s no value: %s\n", name.c_str(),
                            guard == nullptr ? "no row of the table is for it" : run.error_message.c_str());
                ++m_broken;
                continue;
            }
            const bool held = holds(*guard, value->second.value);
            m_missed += held ? 0 : 1;
            std::printf("%-40s %6.2f %s %5.2f  %-6s %s\n", name.c_str(), value->second.value,
                        guard->bound == Bound::AtLeast ? "≥" : "≤", guard->limit, held ? "holds" : "MISSED",
                        guard->reason);
            std::fflush(stdout);
        }
    }

    int exitCode(bool smoke) const
    {
        if (smoke)
            return m_broken == 0 && m_measured > 0 ? 0 : 1;
        std::printf("%d guards measured, %d missed\n", m_measured, m_missed + m_broken);
        return m_broken + m_missed == 0 && m_measured > 0 ? 0 : 1;
    }

private:
    int m_measured = 0, m_missed = 0, m_broken = 0;
};

}  // namespace
}  // namespace tokenscope::bench

int main(int argc, char** argv)
{
    const bool smoke = argc > 1 && std::string_view(argv[1]) == "--smoke";
    if (smoke) {
        argv[1] = argv[0];
        ++argv;
        --argc;
    }
    tokenscope::bench::registerAll(smoke);
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv))
        return 2;
    tokenscope::bench::Judge judge;
    benchmark::RunSpecifiedBenchmarks(&judge);
    return judge.exitCode(smoke);
}
