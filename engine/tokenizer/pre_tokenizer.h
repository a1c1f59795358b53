// Cuts text into the words within which a byte-level BPE may merge. Which patterns do that is named by the file
// (tokenizer.ggml.pre). Immutable, thread-safe.
#pragma once

#include "engine/base/result.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tokenscope {

class PreTokenizer {
public:
    // nullptr if no pattern is known by that name. Internal if PCRE2 refuses it.
    static Result<std::unique_ptr<PreTokenizer>> create(std::string_view name);
    static std::string knownNames();  // "smollm, gpt-2, …", for sentences
    ~PreTokenizer();

    // Words in order; together they are the text. Bytes that are not UTF-8 become words of their own. Time grows
    // linearly with the text, whatever it consists of.
    std::vector<std::string_view> split(std::string_view text) const;

    bool ignoresMerges() const { return m_ignoresMerges; }  // a word that is a token as a whole is that token
    bool addsBos() const { return m_addsBos; }              // where the file does not say

private:
    struct Pattern;
    PreTokenizer();
    void splitValid(std::string_view text, std::size_t stage, std::vector<std::string_view>& words) const;

    std::vector<std::unique_ptr<Pattern>> m_stages;  // each cuts what the one before left
    bool m_ignoresMerges = false;
    bool m_addsBos = false;
};

}  // namespace tokenscope
