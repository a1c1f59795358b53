#include "engine/tokenizer/pre_tokenizer.h"

#include "engine/base/log.h"
#include "engine/base/utf8.h"

#include <fmt/format.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <iterator>

namespace tokenscope {
namespace {

// Unicode's White_Space, spelled out: PCRE2's \s would add U+180E, which the tokenizers' own patterns do not.
#define WHITE "\\x09-\\x0D \\x{85}\\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}\\x{3000}"
#define SPACES "[" WHITE "]+(?![^" WHITE "])|[" WHITE "]+"  // a run leaves its last space to the word behind it
// Possessive (++) where no later part could use what is given back: the same words without backtracking.
#define GPT2 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}++| ?\\p{N}++| ?[^" WHITE "\\p{L}\\p{N}]++|" SPACES
#define LLAMA3(digits)                                                                                                 \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}++|" digits "| ?[^" WHITE "\\p{L}\\p{N}]++[\\r\\n]*+|"   \
    "[" WHITE "]*[\\r\\n]++|" SPACES

struct Known {
    std::string_view name;
    std::vector<const char*> stages;
    bool ignoresMerges = false;
    bool addsBos = false;
};

const std::vector<Known>& known()
{
    static const std::vector<Known> list = {
        {"smollm", {"\\p{N}", GPT2}},
        {"gpt-2", {GPT2}},
        {"default", {GPT2}},
        {"llama-bpe", {LLAMA3("\\p{N}{1,3}+")}, true, true},
        {"llama3", {LLAMA3("\\p{N}{1,3}+")}, true, true},
        {"qwen2", {LLAMA3("\\p{N}")}},
    };
    return list;
}

// No pattern above needs more than a step back per word; what reaches these is a mistake of ours, not a reason to hang.
constexpr std::uint32_t kMatchLimit = 50'000'000;
constexpr std::uint32_t kHeapLimitKiB = 64 * 1024;

}  // namespace

struct PreTokenizer::Pattern {
    std::unique_ptr<pcre2_code, decltype(&pcre2_code_free)> code{nullptr, &pcre2_code_free};
    std::unique_ptr<pcre2_match_context, decltype(&pcre2_match_context_free)> context{nullptr,
                                                                                      &pcre2_match_context_free};
};

PreTokenizer::PreTokenizer() = default;
PreTokenizer::~PreTokenizer() = default;

Result<std::unique_ptr<PreTokenizer>> PreTokenizer::create(std::string_view name)
{
    const auto found = std::ranges::find(known(), name, &Known::name);
    if (found == known().end())
        return nullptr;
    std::unique_ptr<PreTokenizer> preTokenizer(new PreTokenizer);
    preTokenizer->m_ignoresMerges = found->ignoresMerges;
    preTokenizer->m_addsBos = found->addsBos;
    for (const char* source : found->stages) {
        auto pattern = std::make_unique<Pattern>();
        int errorNumber = 0;
        PCRE2_SIZE errorOffset = 0;
        pattern->code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(source), PCRE2_ZERO_TERMINATED,
                                          PCRE2_UTF | PCRE2_UCP, &errorNumber, &errorOffset, nullptr));
        pattern->context.reset(pcre2_match_context_create(nullptr));
        if (!pattern->code || !pattern->context)
            return fail(ErrorCode::Internal, "the pattern of pre-tokenizer {} is refused at offset {} (PCRE2 error {})",
                        name, errorOffset, errorNumber);
        pcre2_set_match_limit(pattern->context.get(), kMatchLimit);
        pcre2_set_heap_limit(pattern->context.get(), kHeapLimitKiB);
        // Where there is no JIT for this processor, matching interprets: slower, with the same words.
        pcre2_jit_compile(pattern->code.get(), PCRE2_JIT_COMPLETE);
        preTokenizer->m_stages.push_back(std::move(pattern));
    }
    return preTokenizer;
}

std::string PreTokenizer::knownNames()
{
    std::string names;
    for (const Known& entry : known())
        names += (names.empty() ? "" : ", ") + std::string(entry.name);
    return names;
}

std::vector<std::string_view> PreTokenizer::split(std::string_view text) const
{
    std::vector<std::string_view> words;
    std::size_t runStart = 0;
    for (std::size_t i = 0; i < text.size();) {
        const Utf8Step step = nextUtf8(text, i);
        if (!step.valid) {
            splitValid(text.substr(runStart, i - runStart), 0, words);
            words.push_back(text.substr(i, step.bytes));
            runStart = i + step.bytes;
        }
        i += step.bytes;
    }
    splitValid(text.substr(runStart), 0, words);
    return words;
}

void PreTokenizer::splitValid(std::string_view text, std::size_t stage, std::vector<std::string_view>& words) const
{
    if (text.empty())
        return;
    if (stage == m_stages.size()) {
        words.push_back(text);
        return;
    }
    const Pattern& pattern = *m_stages[stage];
    const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> match(pcre2_match_data_create(1, nullptr),
                                                                                    &pcre2_match_data_free);
    std::size_t done = 0;
    while (match && done < text.size()) {
        const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
        const auto run = [&](std::uint32_t options) {
            return pcre2_match(pattern.code.get(), subject, text.size(), done, PCRE2_NO_UTF_CHECK | options,
                               match.get(), pattern.context.get());
        };
        int outcome = run(0);
        if (outcome < 0 && outcome != PCRE2_ERROR_NOMATCH)
            outcome = run(PCRE2_NO_JIT);  // a heap of its own instead of JIT's small stack
        if (outcome < 0) {
            if (outcome != PCRE2_ERROR_NOMATCH)
                logWarn(fmt::format("pre-tokenizer: PCRE2 error {} after {} of {} bytes; the rest is one word", outcome,
                                    done, text.size()));
            break;
        }
        const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(match.get());
        splitValid(text.substr(done, bounds[0] - done), stage + 1, words);
        splitValid(text.substr(bounds[0], bounds[1] - bounds[0]), stage + 1, words);
        done = bounds[1];
    }
    splitValid(text.substr(done), stage + 1, words);
}

}  // namespace tokenscope
