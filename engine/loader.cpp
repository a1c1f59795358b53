// GGUF file → model that computes. prepare() reads metadata only; load() plans the memory before it allocates any.
#include "engine/loaded_model.h"

#include "engine/device.h"
#include "engine/gguf/gguf_file.h"
#include "engine/model/model.h"
#include "engine/template/chat_template.h"
#include "engine/tokenizer/tokenizer.h"
#include "kernels/step_plan.h"

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace tokenscope {
namespace {

constexpr std::size_t kMostTemplateBytes = 1u << 20;

// Pages of the file that have been repacked are given back in steps of this share, so that the file and the repacked
// weights are never in memory together; a page that is needed again comes from the page cache.
constexpr double kReleaseEvery = 0.05;

// The program's shapes, after the file they pointed into is gone. (A view without data means "no such tensor", so the
// pointers go to a byte that nobody reads.)
kernels::LayerProgram withoutBytes(kernels::LayerProgram program)
{
    static const std::byte kReleased{};
    const auto release = [](kernels::TensorView& view) {
        if (view)
            view.data = &kReleased;
    };
    release(program.tokenEmbedding);
    release(program.outputNorm);
    release(program.head);
    for (kernels::LayerSpec& layer : program.layers)
        for (kernels::TensorView* view :
             {&layer.attnNorm, &layer.q, &layer.k, &layer.v, &layer.qBias, &layer.kBias, &layer.vBias, &layer.qNorm,
              &layer.kNorm, &layer.attnOutput, &layer.postAttnNorm, &layer.ffnNorm, &layer.gate, &layer.up, &layer.down,
              &layer.postFfnNorm})
            release(*view);
    return program;
}

Result<std::string> readTemplateFile(const std::filesystem::path& path)
{
    std::ifstream file(path, std::ios::binary);
    std::string source(kMostTemplateBytes + 1, '\0');
    if (file)
        file.read(source.data(), static_cast<std::streamsize>(source.size()));
    if (!file.is_open() || file.bad())
        return fail(ErrorCode::FileAccess, "the template file {} cannot be read", path.string());
    source.resize(static_cast<std::size_t>(file.gcount()));
    if (source.size() > kMostTemplateBytes)
        return fail(ErrorCode::BadInput, "the template file {} has more than {} bytes", path.string(),
                    kMostTemplateBytes);
    return source;
}

// Never fatal: without a template the model completes plain text.
void chooseTemplate(ModelText& text, const GgufFile& file, const EngineSettings& settings,
                    std::vector<std::string>& warnings)
{
    if (settings.templateOverride == "raw")
        return;
    Result<std::string> source = std::string();
    if (!settings.templateOverride.empty()) {
        source = readTemplateFile(settings.templateOverride);
    } else if (const auto value = file.stringValue("tokenizer.chat_template"); !value) {
        source = tl::unexpected(value.error());
    } else if (value->has_value()) {
        source = **value;
    } else {
        return;  // told with each request that would need one (request_intake), and by ModelInfo::hasChatTemplate
    }
    if (source) {
        auto parsed = ChatTemplate::parse(*source);
        if (parsed)
            text.chatTemplate = std::move(*parsed);
        else
            text.templateError = std::move(parsed.error().message);
    } else {
        text.templateError = std::move(source.error().message);
    }
    if (!text.templateError.empty())
        warnings.push_back("the chat template cannot be used: " + text.templateError);
}

void warnAboutContext(const LoadedModelInfo& info, const kernels::LayerProgram& program,
                      std::vector<std::string>& warnings)
{
    const int trained = info.model.trainedContext;
    if (trained > 0 && info.context > trained)
        warnings.push_back(fmt::format("the context of {} tokens is longer than the {} the model was trained for: "
                                       "answers beyond them may make no sense",
                                       info.context, trained));
    const std::int64_t poolTokens = std::int64_t{info.blockCount} * kernels::kBlockTokens;
    if (poolTokens < info.context)
        warnings.push_back(fmt::format("the cache budget holds {} tokens, fewer than the context of {}: a chat ends at "
                                       "the smaller",
                                       poolTokens, info.context));
    // Llama 3.1 and later scale RoPE by a tensor of divisors; files made before it existed lack it.
    constexpr float kLlama3Base = 500000.0f;
    constexpr int kLlama3Trained = 8192;
    if (!program.layers.empty()) {
        const kernels::RopeSpec& rope = program.layers.front().rope;
        if (rope.base == kLlama3Base && rope.divisors.empty() && rope.scale == 1.0f && trained > kLlama3Trained &&
            info.context > kLlama3Trained)
            warnings.push_back(fmt::format("the file has no rope factors (rope_freqs.weight): answers may get worse "
                                           "beyond {} tokens",
                                           kLlama3Trained));
    }
}

class PreparedFile final : public PreparedLoad {
public:
    PreparedFile(GgufFile&& opened, const EngineSettings& wanted, const MemoryLimit& limit)
        : m_file(std::move(opened)), m_settings(wanted), m_memory(limit)
    {
    }

    // Everything that needs no tensor data.
    Result<void> look()
    {
        auto mapping = m_file.map();
        if (!mapping)
            return tl::unexpected(std::move(mapping.error()));
        m_mapping = std::move(*mapping);
        auto program = buildLayerProgram(m_file, *m_mapping);
        if (!program)
            return tl::unexpected(std::move(program.error()));
        m_program = std::move(*program);
        m_warnings = modelWarnings(m_file);
        const auto device = resolveDevice(m_settings);
        if (!device)
            return tl::unexpected(device.error());
        m_device = *device;

        auto tokenizer = Tokenizer::create(m_file, m_settings.pretokenizer);
        if (!tokenizer)
            return tl::unexpected(std::move(tokenizer.error()));
        if ((*tokenizer)->vocabularySize() != m_program.vocabulary)
            return fail(ErrorCode::BadFile, "{}: the tokenizer has {} tokens and token_embd.weight {} rows",
                        m_file.path.filename().string(), (*tokenizer)->vocabularySize(), m_program.vocabulary);
        m_text.tokenizer = std::move(*tokenizer);
        chooseTemplate(m_text, m_file, m_settings, m_warnings);
        return {};
    }

    Result<std::unique_ptr<LoadedModel>> load(const LoadHooks& hooks) override
    {
        auto model = std::make_unique<LoadedModel>();
        auto backend = makeBackend(m_device);
        if (!backend)
            return tl::unexpected(std::move(backend.error()));
        model->backend = std::move(*backend);

        LoadedModelInfo& info = model->info;
        info.model = describeModel(m_file);
        auto budget = planMemory(m_program, info.model.trainedContext, m_settings, model->backend->estimate(m_program),
                                 m_memory.availableBytes());
        if (!budget)
            return tl::unexpected(std::move(budget.error()));
        info.budget = *budget;

        const auto cacheType = m_settings.kv == KvFormat::F32 ? kernels::CacheType::F32 : kernels::CacheType::F16;
        info.context = budget->context;
        info.blockBytes = kernels::cacheBlockBytes(m_program, cacheType);
        const int blocksOfSequence = (info.context + kernels::kBlockTokens - 1) / kernels::kBlockTokens;
        info.blockCount = m_settings.kvBudgetBytes == 0 ? blocksOfSequence * m_settings.batch
                                                        : static_cast<int>(budget->kvBytes / info.blockBytes);
        if (info.blockCount < 1)
            return fail(ErrorCode::BadSetting, "kv_budget={}: one block of {} tokens takes {} bytes",
                        m_settings.kvBudgetBytes, kernels::kBlockTokens, info.blockBytes);

        double released = 0.0;
        kernels::LoadOptions options;
        options.cancelled = &hooks.cancelled;
        options.progress = [&](double fraction) {
            hooks.progress(fraction);
            if (fraction < released + kReleaseEvery)
                return;
            released = fraction;
            releaseFile();
        };
        auto device = model->backend->load(m_program, options);
        if (!device)
            return tl::unexpected(toError(device.error()));
        if (auto unchanged = m_mapping->checkUnchanged(); !unchanged)
            return tl::unexpected(std::move(unchanged.error()));
        m_mapping.reset();
        model->device = std::move(*device);
        if (auto reserved = model->device->reserveCache({info.blockCount, cacheType}); !reserved)
            return tl::unexpected(toError(reserved.error()));

        info.device = deviceLabel(m_device.device);
        info.isa = isaLabel(m_device);
        info.description = model->backend->description();
        info.threads = m_device.threads;
        info.warnings = std::move(m_warnings);
        warnAboutContext(info, m_program, info.warnings);
        model->settings = m_settings;
        model->text = std::make_shared<const ModelText>(std::move(m_text));
        const auto shapes = std::make_shared<const kernels::LayerProgram>(withoutBytes(std::move(m_program)));
        model->stepCost = [shapes, cacheType](const kernels::StepPlan& plan) {
            return stepCost(*shapes, plan, cacheType);
        };
        model->stageCosts = [shapes, cacheType](const kernels::StepPlan& plan) {
            return stageCosts(*shapes, plan, cacheType);
        };
        return model;
    }

private:
    void releaseFile() const
    {
        for (const GgufTensor& tensor : m_file.tensors)
            m_mapping->release(tensor);
    }

    GgufFile m_file;
    EngineSettings m_settings;
    const MemoryLimit& m_memory;
    std::unique_ptr<GgufMapping> m_mapping;
    kernels::LayerProgram m_program;  // views into m_mapping
    EffectiveDevice m_device{};
    ModelText m_text;
    std::vector<std::string> m_warnings;
};

class FileLoader final : public ModelLoader {
public:
    explicit FileLoader(const MemoryLimit& memory) : m_memory(memory) {}

    Result<std::unique_ptr<PreparedLoad>> prepare(const std::filesystem::path& path,
                                                  const EngineSettings& settings) override
    {
        auto file = GgufFile::open(path);
        if (!file)
            return tl::unexpected(std::move(file.error()));
        auto prepared = std::make_unique<PreparedFile>(std::move(*file), settings, m_memory);
        if (auto looked = prepared->look(); !looked)
            return tl::unexpected(std::move(looked.error()));
        return prepared;
    }

private:
    const MemoryLimit& m_memory;
};

}  // namespace

std::unique_ptr<ModelLoader> makeFileLoader(const MemoryLimit& memory)
{
    return std::make_unique<FileLoader>(memory);
}

}  // namespace tokenscope
