#include "tests/support/fake_model.h"

#include "engine/template/chat_template.h"
#include "engine/tokenizer/tokenizer.h"
#include "kernels/step_plan.h"

#include <algorithm>
#include <utility>

namespace tokenscope::test {
namespace {

constexpr std::string_view kMarkText = "<|mark|>";

class FakeTokenizer final : public Tokenizer {
public:
    explicit FakeTokenizer(bool addsBosToken) : m_addsBos(addsBosToken) {}

    // The byte 0x00 has no token.
    EncodedText encode(std::string_view text, bool parseSpecial) const override
    {
        EncodedText encoded;
        while (!text.empty()) {
            if (parseSpecial && text.starts_with(kMarkText)) {
                encoded.ids.push_back(kFakeMark);
                text.remove_prefix(kMarkText.size());
                continue;
            }
            if (parseSpecial && text.starts_with("<bos>")) {
                encoded.ids.push_back(kFakeBos);
                text.remove_prefix(5);
                continue;
            }
            if (text.front() == '\0')
                ++encoded.droppedBytes;
            else
                encoded.ids.push_back(static_cast<unsigned char>(text.front()));
            text.remove_prefix(1);
        }
        return encoded;
    }
    EncodedText encodeSegments(std::span<const TextSegment> segments) const override
    {
        EncodedText all;
        for (const TextSegment& segment : segments) {
            const EncodedText one = encode(segment.text, !segment.isData);
            all.ids.insert(all.ids.end(), one.ids.begin(), one.ids.end());
            all.droppedBytes += one.droppedBytes;
        }
        return all;
    }
    std::string decode(TokenId id, bool withSpecial) const override
    {
        if (id < 256)
            return std::string(1, static_cast<char>(id));
        return withSpecial ? tokenText(id) : std::string();
    }
    std::string decode(std::span<const TokenId> ids, bool withSpecial) const override
    {
        std::string text;
        for (TokenId id : ids)
            text += decode(id, withSpecial);
        return text;
    }
    std::string tokenText(TokenId id) const override
    {
        return id == kFakeBos    ? "<bos>"
               : id == kFakeEos  ? "<eos>"
               : id == kFakeMark ? std::string(kMarkText)
                                 : decode(id, false);
    }
    int vocabularySize() const override { return kFakeVocabulary; }
    std::optional<TokenId> bos() const override { return kFakeBos; }
    std::optional<TokenId> eos() const override { return kFakeEos; }
    bool addsBos() const override { return m_addsBos; }
    bool isEndOfGeneration(TokenId id) const override { return id == kFakeEos; }
    bool isControl(TokenId id) const override { return id >= 256; }
    std::string description() const override { return "fake"; }

private:
    bool m_addsBos;
};

std::uint64_t mixed(std::uint64_t state)
{
    // SplitMix64's finaliser.
    state += 0x9E3779B97F4A7C15ull;
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9ull;
    state = (state ^ (state >> 27)) * 0x94D049BB133111EBull;
    return state ^ (state >> 31);
}

class FakeDevice final : public kernels::DeviceModel {
public:
    explicit FakeDevice(const FakeModelOptions& fake) : m_options(fake) {}

    kernels::KernelResult<void> reserveCache(const kernels::CacheSpec& spec) override
    {
        m_cache.assign(static_cast<std::size_t>(spec.blockCount) * kernels::kBlockTokens, -1);
        return {};
    }

    kernels::KernelResult<kernels::StepResult> runStep(const kernels::StepPlan& plan,
                                                       const std::atomic<bool>* cancelled) override
    {
        if (m_options.onStep)
            if (auto passed = m_options.onStep(plan, cancelled); !passed)
                return tl::unexpected(passed.error());
        m_logits.clear();
        auto wanted = plan.logitRows.begin();
        for (const kernels::SequenceSlice& slice : plan.sequences) {
            const auto place = [&](int position) -> TokenId& {
                const auto block = plan.blockTable.at(static_cast<std::size_t>(slice.blockTableOffset + position / 32));
                return m_cache.at(static_cast<std::size_t>(block) * 32 + static_cast<std::size_t>(position % 32));
            };
            for (int row = 0; row < slice.rows; ++row) {
                place(slice.kvLength + row) = plan.tokens.at(static_cast<std::size_t>(slice.firstRow + row));
                if (wanted == plan.logitRows.end() || *wanted != slice.firstRow + row)
                    continue;
                ++wanted;
                std::vector<TokenId> seen;
                for (int position = 0; position <= slice.kvLength + row; ++position)
                    seen.push_back(place(position));
                const std::vector<float> logits = fakeLogits(seen);
                m_logits.insert(m_logits.end(), logits.begin(), logits.end());
            }
        }
        if (cancelled && *cancelled)
            return tl::unexpected(kernels::KernelError{kernels::KernelErrorCode::Cancelled, "the step was cancelled"});
        if (m_options.onLogits)
            m_options.onLogits(m_logits);
        return kernels::StepResult{m_logits};
    }

    kernels::DeviceMemory memory() const override { return {}; }

private:
    const FakeModelOptions& m_options;
    std::vector<TokenId> m_cache;
    std::vector<float> m_logits;
};

class FakePrepared final : public PreparedLoad {
public:
    FakePrepared(const FakeModelOptions& fake, const EngineSettings& wanted, std::string modelPath)
        : m_options(fake), m_settings(wanted), m_path(std::move(modelPath))
    {
    }

    Result<std::unique_ptr<LoadedModel>> load(const LoadHooks& hooks) override
    {
        hooks.progress(0.5);
        if (m_options.onLoad)
            if (auto passed = m_options.onLoad(hooks.cancelled); !passed)
                return fail(passed.error().code == kernels::KernelErrorCode::Cancelled ? ErrorCode::Cancelled
                                                                                       : ErrorCode::Internal,
                            passed.error().message);
        auto model = std::make_unique<LoadedModel>();
        model->settings = m_settings;
        model->info.model.path = m_path;
        model->info.context = m_options.context;
        model->info.blockCount =
            m_options.blockCount > 0 ? m_options.blockCount : (m_options.context + 31) / 32 * m_settings.batch;
        model->info.blockBytes = 1000;
        auto text = std::make_shared<ModelText>();
        text->tokenizer = makeFakeTokenizer(m_options.addsBos);
        text->templateError = m_options.templateError;
        if (!m_options.templateSource.empty())
            text->chatTemplate = ChatTemplate::parse(m_options.templateSource).value();
        model->text = std::move(text);
        model->device = std::make_unique<FakeDevice>(m_options);
        if (auto reserved = model->device->reserveCache({model->info.blockCount, kernels::CacheType::F32}); !reserved)
            return fail(ErrorCode::OutOfMemory, reserved.error().message);
        model->stepCost = [](const kernels::StepPlan& plan) {
            return StepCost{1000, 10, 1, static_cast<std::uint64_t>(plan.rows())};
        };
        hooks.progress(1.0);
        return model;
    }

private:
    const FakeModelOptions& m_options;
    EngineSettings m_settings;
    std::string m_path;
};

class FakeLoader final : public ModelLoader {
public:
    explicit FakeLoader(FakeModelOptions&& fake) : m_options(std::move(fake)) {}

    Result<std::unique_ptr<PreparedLoad>> prepare(const std::filesystem::path& path,
                                                  const EngineSettings& settings) override
    {
        if (path.string().find("missing") != std::string::npos)
            return fail(ErrorCode::FileAccess, path.string() + ": no such file");
        return std::make_unique<FakePrepared>(m_options, settings, path.string());
    }

private:
    FakeModelOptions m_options;  // outlives the models made from it
};

}  // namespace

std::unique_ptr<ModelLoader> makeFakeLoader(FakeModelOptions options)
{
    return std::make_unique<FakeLoader>(std::move(options));
}

std::shared_ptr<const Tokenizer> makeFakeTokenizer(bool addsBos)
{
    return std::make_shared<FakeTokenizer>(addsBos);
}

std::vector<float> fakeLogits(std::span<const TokenId> tokens)
{
    std::uint64_t state = tokens.size();
    for (TokenId token : tokens)
        state = mixed(state ^ static_cast<std::uint64_t>(static_cast<std::uint32_t>(token)));
    std::vector<float> logits(kFakeVocabulary);
    for (int id = 0; id < kFakeVocabulary; ++id) {
        const auto unit = static_cast<float>(mixed(state + static_cast<std::uint64_t>(id)) >> 40) * 0x1.0p-24f;
        logits[static_cast<std::size_t>(id)] = (id >= 'a' && id <= 'z' ? 10.0f : 0.0f) + unit;
    }
    return logits;
}

std::vector<TokenId> expectedTokens(std::vector<TokenId> prompt, int count)
{
    std::vector<TokenId> answer;
    for (int i = 0; i < count; ++i) {
        const std::vector<float> logits = fakeLogits(prompt);
        answer.push_back(static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin()));
        prompt.push_back(answer.back());
    }
    return answer;
}

std::string expectedText(std::vector<TokenId> prompt, int count)
{
    std::string text;
    for (TokenId id : expectedTokens(std::move(prompt), count))
        text += static_cast<char>(id);
    return text;
}

}  // namespace tokenscope::test
