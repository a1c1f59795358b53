// Text ↔ token ids as the model's file defines it: byte-level BPE with its pre-tokenizer, or SentencePiece with byte
// fallback. Immutable after creation and thread-safe.
#pragma once

#include "engine/base/result.h"
#include "engine/gguf/gguf_file.h"
#include "engine/types/ids.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tokenscope {

struct EncodedText {
    std::vector<TokenId> ids;
    std::size_t droppedBytes = 0;  // bytes the vocabulary has no token for
};

// A stretch of text for encodeSegments: template text may contain special tokens, data may not.
struct TextSegment {
    std::string text;
    bool isData = false;  // came from a message: special tokens do not count where they touch it
};

class Tokenizer {
public:
    virtual ~Tokenizer() = default;

    // UnsupportedModel naming the tokenizer model or pre-tokenizer; BadFile for inconsistent arrays.
    // pretokenizerOverride: "" = the file's.
    static Result<std::shared_ptr<const Tokenizer>> create(const GgufFile& file, std::string_view pretokenizerOverride);

    // No BOS is added. parseSpecial: text of control and user-defined tokens becomes that token, longest match first.
    // Any bytes are accepted.
    virtual EncodedText encode(std::string_view text, bool parseSpecial) const = 0;
    // Special tokens count only where they lie wholly in template text; what stands between two of them is tokenised
    // as one piece, template and data together.
    virtual EncodedText encodeSegments(std::span<const TextSegment> segments) const = 0;

    // The bytes a token stands for. Control tokens give nothing unless withSpecial.
    virtual std::string decode(TokenId id, bool withSpecial = false) const = 0;
    // A whole sequence; undoes an added leading space where the vocabulary adds one.
    virtual std::string decode(std::span<const TokenId> ids, bool withSpecial = false) const = 0;
    virtual std::string tokenText(TokenId id) const = 0;  // as in the vocabulary, for lists and logs of ids

    virtual int vocabularySize() const = 0;
    virtual std::optional<TokenId> bos() const = 0;
    virtual std::optional<TokenId> eos() const = 0;
    virtual bool addsBos() const = 0;                      // a raw prompt begins with BOS
    virtual bool isEndOfGeneration(TokenId id) const = 0;  // EOS, EOT and their kin
    virtual bool isControl(TokenId id) const = 0;
    virtual std::string description() const = 0;  // "gpt2 / smollm"
};

}  // namespace tokenscope
