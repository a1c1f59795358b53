#include "tests/support/tiny_vocabulary.h"

#include "engine/base/utf8.h"

#include <fmt/format.h>

namespace tokenscope::test {

GgufFile tokensOnly(const std::string& model, const std::vector<TinyToken>& tokens)
{
    GgufFile file;
    file.path = "tiny.gguf";
    std::vector<std::string> texts;
    std::vector<std::int64_t> types;
    std::vector<double> scores;
    for (const TinyToken& token : tokens) {
        texts.push_back(token.text);
        types.push_back(token.type);
        scores.push_back(token.score);
    }
    file.metadata["tokenizer.ggml.model"] = model;
    file.metadata["tokenizer.ggml.tokens"] = GgufArray{texts};
    file.metadata["tokenizer.ggml.token_type"] = GgufArray{types};
    if (model == "llama")
        file.metadata["tokenizer.ggml.scores"] = GgufArray{scores};
    else
        file.metadata["tokenizer.ggml.merges"] = GgufArray{std::vector<std::string>{}};
    return file;
}

GgufFile tinyBpe(const std::vector<TinyToken>& more, const std::vector<std::string>& merges,
                 const std::string& preTokenizer)
{
    std::vector<TinyToken> tokens;
    // GPT-2's letters, written down once more so that a mistake in the engine's table is seen.
    char32_t shifted = 256;
    for (unsigned byte = 0; byte < 256; ++byte) {
        const bool prints = (byte > 32 && byte < 127) || (byte > 160 && byte != 173);
        std::string text;
        appendUtf8(text, prints ? char32_t{byte} : shifted++);
        tokens.push_back({text});
    }
    tokens.insert(tokens.end(), more.begin(), more.end());
    GgufFile file = tokensOnly("gpt2", tokens);
    file.metadata["tokenizer.ggml.merges"] = GgufArray{merges};
    file.metadata["tokenizer.ggml.pre"] = preTokenizer;
    return file;
}

GgufFile tinySpm(const std::vector<TinyToken>& more, bool addSpacePrefix)
{
    std::vector<TinyToken> tokens = {{"<unk>", 2}, {"<s>", 3}, {"</s>", 3}};
    for (int byte = 0; byte < 256; ++byte)
        tokens.push_back({fmt::format("<0x{:02X}>", byte), 6});
    tokens.push_back({"▁", 1, -100});
    tokens.insert(tokens.end(), more.begin(), more.end());
    GgufFile file = tokensOnly("llama", tokens);
    file.metadata["tokenizer.ggml.add_space_prefix"] = addSpacePrefix;
    file.metadata["tokenizer.ggml.bos_token_id"] = std::uint64_t{1};
    file.metadata["tokenizer.ggml.eos_token_id"] = std::uint64_t{2};
    return file;
}

}  // namespace tokenscope::test
