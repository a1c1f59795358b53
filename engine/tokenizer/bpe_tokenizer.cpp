#include "engine/tokenizer/bpe_tokenizer.h"

#include "engine/base/log.h"
#include "engine/base/utf8.h"
#include "engine/tokenizer/byte_letters.h"

#include <fmt/format.h>

#include <algorithm>

namespace tokenscope {

// Symbols are a linked list over arrays that are re-used from word to word; the heap holds pairs that could merge, some
// of them out of date. O(n log n) for a word of n bytes.
struct BpeTokenizer::Word {
    static constexpr TokenId kGone = -2;  // merged into its left neighbour
    struct Candidate {
        std::int32_t rank = 0;
        std::int32_t left = 0;
        TokenId leftId = 0;
        TokenId rightId = 0;
        TokenId result = 0;
        // Lowest rank first, then leftmost; std heaps keep the greatest on top.
        bool operator<(const Candidate& other) const
        {
            return rank != other.rank ? rank > other.rank : left > other.left;
        }
    };
    std::vector<TokenId> ids;
    std::vector<std::int32_t> next;
    std::vector<std::int32_t> previous;
    std::vector<Candidate> heap;

    void propose(const MergeTable& merges, std::int32_t left)
    {
        if (left < 0 || next[left] < 0 || ids[left] < 0 || ids[next[left]] < 0)
            return;
        if (const auto* merge = merges.find(ids[left], ids[next[left]])) {
            heap.push_back({merge->rank, left, ids[left], ids[next[left]], merge->result});
            std::push_heap(heap.begin(), heap.end());
        }
    }

    void mergeAll(const MergeTable& merges)
    {
        heap.clear();
        for (std::int32_t i = 0; i + 1 < static_cast<std::int32_t>(ids.size()); ++i)
            propose(merges, i);
        while (!heap.empty()) {
            std::pop_heap(heap.begin(), heap.end());
            const Candidate best = heap.back();
            heap.pop_back();
            const std::int32_t left = best.left;
            const std::int32_t right = next[left];
            if (ids[left] != best.leftId || right < 0 || ids[right] != best.rightId)
                continue;  // one of the two has merged elsewhere since
            ids[left] = best.result;
            ids[right] = kGone;
            next[left] = next[right];
            if (next[left] >= 0)
                previous[next[left]] = left;
            propose(merges, previous[left]);
            propose(merges, left);
        }
    }
};

BpeTokenizer::BpeTokenizer(Vocabulary vocabulary, std::unique_ptr<PreTokenizer> preTokenizer,
                           std::string preTokenizerName)
    : VocabularyTokenizer(std::move(vocabulary), preTokenizer->addsBos(), false),
      m_preTokenizer(std::move(preTokenizer)), m_preTokenizerName(std::move(preTokenizerName))
{
}

Result<std::shared_ptr<const Tokenizer>> BpeTokenizer::create(Vocabulary vocabulary, const GgufFile& file,
                                                              std::string_view pretokenizerOverride)
{
    const std::string fileName = file.path.filename().string();
    std::string name(pretokenizerOverride);
    if (name.empty()) {
        name = vocabulary.preTokenizer;
        if (name.empty()) {
            name = "gpt-2";
            logWarn(fmt::format("{}: no tokenizer.ggml.pre, its words are cut as GPT-2's; --pretokenizer changes that",
                                fileName));
        }
    }
    auto preTokenizer = PreTokenizer::create(name);
    if (!preTokenizer)
        return tl::unexpected(std::move(preTokenizer.error()));
    if (!*preTokenizer && !pretokenizerOverride.empty())
        return fail(ErrorCode::BadSetting, "--pretokenizer {}: not known, choose one of {}", name,
                    PreTokenizer::knownNames());
    if (!*preTokenizer)
        return fail(ErrorCode::UnsupportedModel,
                    "{}: pre-tokenizer \"{}\" is not known, so its text would be cut wrongly; known are {}. "
                    "--pretokenizer NAME uses one of these instead",
                    fileName, name, PreTokenizer::knownNames());

    std::shared_ptr<BpeTokenizer> tokenizer(new BpeTokenizer(std::move(vocabulary), std::move(*preTokenizer), name));
    if (auto loaded = tokenizer->loadMerges(file); !loaded)
        return tl::unexpected(std::move(loaded.error()));
    for (unsigned byte = 0; byte < 256; ++byte) {
        std::string letter;
        appendUtf8(letter, letterOfByte(static_cast<unsigned char>(byte)));
        const auto id = tokenizer->vocabulary().findMergeable(letter);
        tokenizer->m_byteIds[byte] =
            id ? *id : tokenizer->vocabulary().byteToken(static_cast<unsigned char>(byte)).value_or(-1);
    }
    return tokenizer;
}

Result<void> BpeTokenizer::loadMerges(const GgufFile& file)
{
    constexpr std::string_view kKey = "tokenizer.ggml.merges";
    const std::string fileName = file.path.filename().string();
    const std::vector<std::string>* merges = file.stringArray(kKey);
    if (!merges)
        return fail(ErrorCode::BadFile, "{}: {} is missing or not an array of strings", fileName, kKey);
    constexpr std::size_t kMaxMerges = 4'000'000;
    if (merges->size() > kMaxMerges)
        return fail(ErrorCode::BadFile, "{}: {} has {} entries, the limit is {}", fileName, kKey, merges->size(),
                    kMaxMerges);
    m_merges.reserve(merges->size());
    std::string joined;
    for (std::size_t rank = 0; rank < merges->size(); ++rank) {
        const std::string_view merge = (*merges)[rank];
        const std::size_t space = merge.find(' ', 1);
        if (merge.empty() || space == std::string_view::npos || space + 1 == merge.size())
            return fail(ErrorCode::BadFile, "{}: {} entry {} is not two parts with a space between", fileName, kKey,
                        rank);
        const std::string_view left = merge.substr(0, space);
        const std::string_view right = merge.substr(space + 1);
        joined.assign(left).append(right);
        const auto leftId = vocabulary().findMergeable(left);
        const auto rightId = vocabulary().findMergeable(right);
        const auto result = vocabulary().findMergeable(joined);
        if (!leftId || !rightId || !result)
            return fail(ErrorCode::BadFile, "{}: {} entry {} names a part or a result that is not in the vocabulary",
                        fileName, kKey, rank);
        m_merges.insert(*leftId, *rightId, static_cast<std::int32_t>(rank), *result);
    }
    return {};
}

void BpeTokenizer::encodePiece(std::string_view piece, bool, EncodedText& out) const
{
    Word word;
    for (const std::string_view text : m_preTokenizer->split(piece))
        encodeWord(text, word, out);
}

void BpeTokenizer::encodeWord(std::string_view text, Word& word, EncodedText& out) const
{
    if (m_preTokenizer->ignoresMerges() && text.size() <= vocabulary().longestTextBytes()) {
        std::string letters;
        for (const char byte : text)
            appendUtf8(letters, letterOfByte(static_cast<unsigned char>(byte)));
        if (const auto whole = vocabulary().findMergeable(letters)) {
            out.ids.push_back(*whole);
            return;
        }
    }
    const auto count = static_cast<std::int32_t>(text.size());
    word.ids.resize(text.size());
    word.next.resize(text.size());
    word.previous.resize(text.size());
    for (std::int32_t i = 0; i < count; ++i) {
        word.ids[i] = m_byteIds[static_cast<unsigned char>(text[i])];
        word.next[i] = i + 1 < count ? i + 1 : -1;
        word.previous[i] = i - 1;
    }
    word.mergeAll(m_merges);
    for (std::int32_t i = 0; i >= 0 && i < count; i = word.next[i]) {
        if (word.ids[i] >= 0)
            out.ids.push_back(word.ids[i]);
        else
            ++out.droppedBytes;
    }
}

std::string BpeTokenizer::textBytes(TokenId id) const
{
    const std::string_view text = vocabulary().text(id);
    if (vocabulary().type(id) == TokenType::UserDefined)
        return std::string(text);  // matched as it stands, never through letters
    std::string bytes;
    for (std::size_t i = 0; i < text.size();) {
        const Utf8Step step = nextUtf8(text, i);
        if (const auto byte = step.valid ? byteOfLetter(step.codePoint) : std::nullopt)
            bytes += static_cast<char>(*byte);
        else
            bytes.append(text.substr(i, step.bytes));
        i += step.bytes;
    }
    return bytes;
}

std::string BpeTokenizer::description() const
{
    return "gpt2 / " + m_preTokenizerName;
}

}  // namespace tokenscope
