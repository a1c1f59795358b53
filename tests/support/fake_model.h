// A model that computes nothing but a hash, for tests of the engine around it: the logits of a row depend on every
// token of its sequence, read back from the paged cache through the block table. A wrong block, position or row
// therefore changes the tokens that come out, and expectedTokens() says which ones are right.
#pragma once

#include "engine/loaded_model.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tokenscope::test {

// Bytes are tokens; beside them BOS, EOS and one mark that only templates may write, "<|mark|>".
inline constexpr TokenId kFakeBos = 256;
inline constexpr TokenId kFakeEos = 257;
inline constexpr TokenId kFakeMark = 258;
inline constexpr int kFakeVocabulary = 259;

struct FakeModelOptions {
    int context = 128;
    int blockCount = 0;  // 0 = context × batch
    bool addsBos = false;
    std::string templateSource;  // empty = none
    std::string templateError;

    // Called on the engine's thread before each step is computed; may wait, throw, or give an error. `cancelled` is the
    // step's flag.
    std::function<kernels::KernelResult<void>(const kernels::StepPlan&, const std::atomic<bool>* cancelled)> onStep;
    // Called between two halves of a load.
    std::function<kernels::KernelResult<void>(const std::atomic<bool>& cancelled)> onLoad;
    // Called with the logits before they are handed out.
    std::function<void(std::span<float>)> onLogits;
};

// A loader for makeEngine(dependencies, loader). Paths that contain "missing" fail in prepare().
std::unique_ptr<ModelLoader> makeFakeLoader(FakeModelOptions options = {});

std::shared_ptr<const Tokenizer> makeFakeTokenizer(bool addsBos);

// The logits the fake gives after these tokens; letters a to z are far ahead of all else.
std::vector<float> fakeLogits(std::span<const TokenId> tokens);
// What a greedy answer to `prompt` must be.
std::vector<TokenId> expectedTokens(std::vector<TokenId> prompt, int count);
std::string expectedText(std::vector<TokenId> prompt, int count);

}  // namespace tokenscope::test
