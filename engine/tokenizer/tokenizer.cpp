#include "engine/tokenizer/tokenizer.h"

#include "engine/tokenizer/bpe_tokenizer.h"
#include "engine/tokenizer/spm_tokenizer.h"
#include "engine/tokenizer/vocabulary.h"

#include <fmt/format.h>

namespace tokenscope {

Result<std::shared_ptr<const Tokenizer>> Tokenizer::create(const GgufFile& file, std::string_view pretokenizerOverride)
{
    auto vocabulary = Vocabulary::load(file);
    if (!vocabulary)
        return tl::unexpected(std::move(vocabulary.error()));
    if (vocabulary->model == "gpt2")
        return BpeTokenizer::create(std::move(*vocabulary), file, pretokenizerOverride);
    if (vocabulary->model != "llama")
        return fail(ErrorCode::UnsupportedModel,

                    "{}: tokenizer model \"{}\" is not supported, only gpt2 (byte-level BPE) and llama (SentencePiece)",
                    file.path.filename().string(), vocabulary->model);
    if (!pretokenizerOverride.empty())
        return fail(ErrorCode::BadSetting,
                    "--pretokenizer {}: {} has a SentencePiece vocabulary, which has no pre-tokenizer",
                    pretokenizerOverride, file.path.filename().string());
    return std::make_shared<const SpmTokenizer>(std::move(*vocabulary));
}

}  // namespace tokenscope
