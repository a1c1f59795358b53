// What a model file says about its tokens, checked once: texts, types, scores, the ids with a meaning. Immutable after
// load; texts share one allocation.
#pragma once

#include "engine/base/result.h"
#include "engine/gguf/gguf_file.h"
#include "engine/tokenizer/flat_map.h"
#include "engine/types/ids.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tokenscope {

enum class TokenType : std::uint8_t { Undefined, Normal, Unknown, Control, UserDefined, Unused, Byte };

class Vocabulary {
public:
    // BadFile naming the key, the token and the number.
    static Result<Vocabulary> load(const GgufFile& file);

    int size() const { return static_cast<int>(m_types.size()); }
    std::string_view text(TokenId id) const
    {
        return std::string_view(m_texts).substr(m_offsets[id], m_offsets[id + 1] - m_offsets[id]);
    }
    TokenType type(TokenId id) const { return m_types[id]; }
    bool isControl(TokenId id) const { return m_types[id] == TokenType::Control || m_types[id] == TokenType::Unknown; }
    // A token that ordinary text must never become: control tokens, and what is known as an end marker by its text
    // although the file calls it user-defined (gemma's "</s>").
    bool isReserved(TokenId id) const { return m_reserved[id]; }
    bool isEndOfGeneration(TokenId id) const { return m_endOfGeneration[id]; }

    std::optional<TokenId> find(std::string_view text) const;           // any type
    std::optional<TokenId> findMergeable(std::string_view text) const;  // not reserved, not a byte token
    std::optional<TokenId> byteToken(unsigned char byte) const          // type Byte
    {
        return m_byteTokens[byte] < 0 ? std::nullopt : std::optional(m_byteTokens[byte]);
    }
    unsigned char byteOf(TokenId id) const { return m_byteValues[id]; }  // of a byte token

    std::size_t longestTextBytes() const { return m_longestTextBytes; }
    const std::vector<float>& scores() const { return m_scores; }  // empty where the file has none

    std::string model;         // tokenizer.ggml.model
    std::string preTokenizer;  // tokenizer.ggml.pre, "" if absent
    std::optional<TokenId> bos;
    std::optional<TokenId> eos;
    std::optional<bool> addBos;  // as the file says; absent is absent
    std::optional<bool> addSpacePrefix;

private:
    Result<void> loadTexts(const GgufFile& file);
    Result<void> loadTypes(const GgufFile& file);
    Result<void> loadScores(const GgufFile& file);
    Result<void> loadByteTokens();
    Result<void> loadNamedIds(const GgufFile& file);
    void markEnds();

    std::string m_texts;
    std::vector<std::uint32_t> m_offsets;  // size() + 1
    std::vector<TokenType> m_types;
    std::vector<float> m_scores;
    std::vector<bool> m_reserved;
    std::vector<bool> m_endOfGeneration;
    std::vector<unsigned char> m_byteValues;  // by id; 0 where no byte token
    std::array<TokenId, 256> m_byteTokens{};
    TextIndex m_index;
    std::size_t m_longestTextBytes = 0;
    bool m_typesGiven = false;
};

}  // namespace tokenscope
