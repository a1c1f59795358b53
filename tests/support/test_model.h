// Small valid models with random weights, for tests that need a whole file but no real one. They answer nonsense,
// always the same for the same seed.
#pragma once

#include "tests/support/gguf_writer.h"

#include "kernels/dtype.h"

#include <cstdint>
#include <optional>
#include <string>

namespace tokenscope::test {

enum class TestVocabulary {
    BytePair,       // GPT-2's 256 byte tokens, a few merges, <|endoftext|> 0, <|im_start|> 1, <|im_end|> 2
    SentencePiece,  // <pad> 0, <eos> 1, <bos> 2, <unk> 3, turn marks 4 and 5, <0x00> … <0xFF> from 6, a few pieces
};

struct TestModelSpec {
    std::string architecture = "llama";  // or "gemma3"
    int layers = 2;
    int embedding = 64;
    int heads = 4;
    int kvHeads = 2;
    int headDim = 16;
    int feedForward = 128;
    int context = 512;
    int window = 48;  // gemma3 only
    bool tiedHead = true;
    bool qkvBias = false;      // llama only
    bool ropeFactors = false;  // rope_freqs.weight; llama only
    float ropeBase = 10000.0f;
    // Of all matrices. Where a row is not a multiple of the format's block, Q8_0 or F32 is taken instead, as real
    // files do.
    kernels::DType type = kernels::DType::Q8_0;
    std::optional<kernels::DType> embeddingType;  // of token_embd.weight and output.weight, if another
    TestVocabulary vocabulary = TestVocabulary::BytePair;
    std::string pretokenizer = "gpt-2";  // BytePair only
    int vocabularySize = 0;              // filled up with unreachable tokens to this many; 0 = as it is
    std::string chatTemplate;            // empty = none
    std::uint64_t seed = 1;
};

GgufWriter makeTestModel(const TestModelSpec& spec = {});

// gemma3 with six layers (the last one global), SentencePiece, q/k norms.
TestModelSpec smallGemma3();

// The shape of Llama-3.2-1B (16 × 2048, 32/8 heads of 64, feed-forward 8192, 128,256 tokens, tied) for benchmarks;
// 0.7 GB in Q4_0.
TestModelSpec llama1bShape(kernels::DType type);

// The template of the ChatML form, as most small models have it.
extern const char* const kChatMlTemplate;

}  // namespace tokenscope::test
