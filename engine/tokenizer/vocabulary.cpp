#include "engine/tokenizer/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tokenscope {
namespace {

// Far above any published vocabulary (262,144 tokens, 1,024 bytes); what is larger is damage, and would overflow the
// 32-bit offsets into the shared text.
constexpr std::size_t kMaxTokens = 4'000'000;
constexpr std::size_t kMaxTokenBytes = 65'536;
constexpr std::size_t kMaxTextBytes = std::size_t{1} << 30;

// Texts by which models end a turn or a document; the file's eos_token_id alone names one of them.
constexpr std::string_view kEndMarkers[] = {
    "<|im_end|>",    "<|endoftext|>", "<|eot_id|>",      "<|eom_id|>",      "<|end|>",
    "<end_of_turn>", "<|eot|>",       "<|end_of_text|>", "<|end_of_turn|>", "<EOT>",
    "_<EOT>",        "<|return|>",    "<|call|>",        "<|endofprompt|>", "<｜end▁of▁sentence｜>",
    "[EOT]",         "[EOS]",         "<turn|>",
};

std::string fileName(const GgufFile& file)
{
    return file.path.filename().string();
}

std::optional<unsigned char> parseByteToken(std::string_view text)  // <0xNN>
{
    const auto digit = [](char c) {
        return c >= '0' && c <= '9'   ? c - '0'
               : c >= 'A' && c <= 'F' ? c - 'A' + 10
               : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                      : -1;
    };
    if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>' || digit(text[3]) < 0 || digit(text[4]) < 0)
        return std::nullopt;
    return static_cast<unsigned char>(16 * digit(text[3]) + digit(text[4]));
}

// Long or binary token texts are shown cut and with their bytes escaped.
std::string shown(std::string_view text)
{
    std::string out;
    for (const char c : text.substr(0, 40)) {
        if (c >= 0x20 && c < 0x7F)
            out += c;
        else
            out += fmt::format("\\x{:02X}", static_cast<unsigned char>(c));
    }
    return text.size() > 40 ? out + "…" : out;
}

}  // namespace

Result<Vocabulary> Vocabulary::load(const GgufFile& file)
{
    Vocabulary vocabulary;
    const auto model = file.stringValue("tokenizer.ggml.model");
    if (!model)
        return tl::unexpected(model.error());
    if (!*model)
        return fail(ErrorCode::BadFile, "{}: no tokenizer.ggml.model, so its text cannot be tokenised", fileName(file));
    vocabulary.model = **model;
    const auto pre = file.stringValue("tokenizer.ggml.pre");
    if (!pre)
        return tl::unexpected(pre.error());
    vocabulary.preTokenizer = pre->value_or("");

    const auto addBos = file.boolValue("tokenizer.ggml.add_bos_token");
    if (!addBos)
        return tl::unexpected(addBos.error());
    vocabulary.addBos = *addBos;
    const auto addSpacePrefix = file.boolValue("tokenizer.ggml.add_space_prefix");
    if (!addSpacePrefix)
        return tl::unexpected(addSpacePrefix.error());
    vocabulary.addSpacePrefix = *addSpacePrefix;

    for (const auto& step : {&Vocabulary::loadTexts, &Vocabulary::loadTypes, &Vocabulary::loadScores}) {
        if (auto done = (vocabulary.*step)(file); !done)
            return tl::unexpected(std::move(done.error()));
    }
    if (auto done = vocabulary.loadNamedIds(file); !done)
        return tl::unexpected(std::move(done.error()));
    if (auto done = vocabulary.loadByteTokens(); !done)
        return fail(ErrorCode::BadFile, "{}: {}", fileName(file), done.error().message);
    vocabulary.markEnds();
    return vocabulary;
}

Result<void> Vocabulary::loadTexts(const GgufFile& file)
{
    constexpr std::string_view kKey = "tokenizer.ggml.tokens";
    const std::vector<std::string>* tokens = file.stringArray(kKey);
    if (!tokens)
        return fail(ErrorCode::BadFile, "{}: {} is missing or not an array of strings", fileName(file), kKey);
    if (tokens->empty() || tokens->size() > kMaxTokens)
        return fail(ErrorCode::BadFile, "{}: {} has {} entries, allowed are 1 … {}", fileName(file), kKey,
                    tokens->size(), kMaxTokens);
    std::size_t total = 0;
    for (std::size_t id = 0; id < tokens->size(); ++id) {
        const std::size_t bytes = (*tokens)[id].size();
        if (bytes > kMaxTokenBytes)
            return fail(ErrorCode::BadFile, "{}: token {} is {} bytes long, the limit is {}", fileName(file), id, bytes,
                        kMaxTokenBytes);
        total += bytes;
    }
    if (total > kMaxTextBytes)
        return fail(ErrorCode::BadFile, "{}: the token texts have {} bytes, the limit is {}", fileName(file), total,
                    kMaxTextBytes);
    m_texts.reserve(total);
    m_offsets.reserve(tokens->size() + 1);
    m_offsets.push_back(0);
    for (const std::string& token : *tokens) {
        m_texts += token;
        m_offsets.push_back(static_cast<std::uint32_t>(m_texts.size()));
        m_longestTextBytes = std::max(m_longestTextBytes, token.size());
    }
    m_types.assign(tokens->size(), TokenType::Normal);
    m_index.reserve(tokens->size());
    const auto textOf = [this](std::int32_t id) { return text(id); };
    for (TokenId id = 0; id < size(); ++id) {
        if (!text(id).empty())
            m_index.insert(id, textOf);
    }
    return {};
}

Result<void> Vocabulary::loadTypes(const GgufFile& file)
{
    constexpr std::string_view kKey = "tokenizer.ggml.token_type";
    const auto types = file.numberArray(kKey);
    if (!types)
        return tl::unexpected(types.error());
    m_typesGiven = types->has_value();
    if (!m_typesGiven)
        return {};
    if ((*types)->size() != m_types.size())
        return fail(ErrorCode::BadFile, "{}: {} has {} entries for {} tokens", fileName(file), kKey, (*types)->size(),
                    m_types.size());
    for (std::size_t id = 0; id < m_types.size(); ++id) {
        const double type = (**types)[id];
        if (!(type >= 0 && type <= 6) || type != std::floor(type))
            return fail(ErrorCode::BadFile, "{}: {} of token {} is {}, allowed are 0 … 6", fileName(file), kKey, id,
                        type);
        m_types[id] = static_cast<TokenType>(static_cast<int>(type));
    }
    return {};
}

Result<void> Vocabulary::loadScores(const GgufFile& file)
{
    constexpr std::string_view kKey = "tokenizer.ggml.scores";
    if (model != "llama")
        return {};  // ranks of merges decide there
    const auto scores = file.numberArray(kKey);
    if (!scores)
        return tl::unexpected(scores.error());
    if (!*scores || (*scores)->size() != m_types.size())
        return fail(ErrorCode::BadFile, "{}: {} has {} entries for {} tokens", fileName(file), kKey,
                    *scores ? (*scores)->size() : 0, m_types.size());
    m_scores.reserve(m_types.size());
    for (const double score : **scores) {
        if (std::isnan(score))
            return fail(ErrorCode::BadFile, "{}: {} of token {} is not a number", fileName(file), kKey,
                        m_scores.size());
        m_scores.push_back(static_cast<float>(score));
    }
    return {};
}

Result<void> Vocabulary::loadByteTokens()
{
    m_byteTokens.fill(-1);
    m_byteValues.assign(m_types.size(), 0);
    for (TokenId id = 0; id < size(); ++id) {
        // Files without types are old SentencePiece ones, whose byte tokens are known by their text alone.
        const bool guessed = !m_typesGiven && model == "llama" && text(id).size() == 6;
        if (m_types[id] != TokenType::Byte && !guessed)
            continue;
        const auto byte = parseByteToken(text(id));
        if (!byte && guessed)
            continue;
        if (!byte)
            return fail(ErrorCode::BadFile, "byte token {} has the text \"{}\", expected <0x00> … <0xFF>", id,
                        shown(text(id)));
        m_types[id] = TokenType::Byte;
        m_byteValues[id] = *byte;
        if (m_byteTokens[*byte] < 0)
            m_byteTokens[*byte] = id;
    }
    return {};
}

Result<void> Vocabulary::loadNamedIds(const GgufFile& file)
{
    m_endOfGeneration.assign(m_types.size(), false);
    for (const std::string_view name : {"bos", "eos", "eot", "eom", "unknown", "padding"}) {
        const std::string key = fmt::format("tokenizer.ggml.{}_token_id", name);
        const auto id = file.unsignedValue(key);
        if (!id)
            return tl::unexpected(id.error());
        if (!*id)
            continue;
        if (**id >= m_types.size())
            return fail(ErrorCode::BadFile, "{}: {} is {}, but the vocabulary has {} tokens", fileName(file), key, **id,
                        m_types.size());
        const TokenId token = static_cast<TokenId>(**id);
        if (name == "bos")
            bos = token;
        if (name == "eos")
            eos = token;
        if (name.starts_with("eo"))
            m_endOfGeneration[token] = true;
        if (!m_typesGiven)
            m_types[token] = name == "unknown" ? TokenType::Unknown : TokenType::Control;
    }
    return {};
}

void Vocabulary::markEnds()
{
    m_reserved.assign(m_types.size(), false);
    for (TokenId id = 0; id < size(); ++id)
        m_reserved[id] = isControl(id);
    for (const std::string_view marker : kEndMarkers) {
        if (const auto id = find(marker)) {
            m_endOfGeneration[*id] = true;
            m_reserved[*id] = true;
        }
    }
    // An end marker for some and the end of struck-out text for others: reserved, and an end where the file says so.
    if (const auto id = find("</s>")) {
        m_endOfGeneration[*id] = m_endOfGeneration[*id] || m_types[*id] == TokenType::Control;
        m_reserved[*id] = true;
    }
}

std::optional<TokenId> Vocabulary::find(std::string_view wanted) const
{
    const TokenId id = m_index.find(wanted, [this](std::int32_t candidate) { return text(candidate); });
    return id < 0 ? std::nullopt : std::optional(id);
}

std::optional<TokenId> Vocabulary::findMergeable(std::string_view wanted) const
{
    const auto id = find(wanted);
    return id && !m_reserved[*id] && m_types[*id] != TokenType::Byte ? id : std::nullopt;
}

}  // namespace tokenscope
