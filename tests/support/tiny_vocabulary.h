// GgufFile descriptions with vocabularies of a few tokens, made in memory: the tokenizer's tests need no model file.
#pragma once

#include "engine/gguf/gguf_file.h"

#include <string>
#include <utility>
#include <vector>

namespace tokenscope::test {

struct TinyToken {
    std::string text;
    int type = 1;  // 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte
    double score = 0;
};

// Byte-level BPE: a token for each of the 256 bytes, then `more` (written with GPT-2's letters), then the merges.
GgufFile tinyBpe(const std::vector<TinyToken>& more, const std::vector<std::string>& merges,
                 const std::string& preTokenizer = "gpt-2");
// SentencePiece: <unk>, <s>, </s>, 256 byte tokens, "▁", then `more`.
GgufFile tinySpm(const std::vector<TinyToken>& more, bool addSpacePrefix);
// Exactly these tokens.
GgufFile tokensOnly(const std::string& model, const std::vector<TinyToken>& tokens);

}  // namespace tokenscope::test
