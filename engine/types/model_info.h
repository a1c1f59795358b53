// What is known about a model file, before and after loading. Plain values; the window and the database keep copies.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tokenscope {

struct ModelInfo {
    std::string path;          // UTF-8, first file of a split model
    std::string name;          // general.name, else the file's name
    std::string architecture;  // "llama"
    std::string sha256;  // of the first file's bytes; empty until computed (it is not on the way to the first token)
    std::uint64_t fileBytes = 0;   // all parts
    std::uint64_t parameters = 0;  // elements of all tensors; a tied head counts once
    double bitsPerWeight = 0.0;    // tensor bytes × 8 / parameters
    std::string tensorMix;         // "Q4_1 210, F32 61, Q8_0 1"
    std::string mainType;          // the format most weights have: "Q4_1"
    int trainedContext = 0;
    int layers = 0;
    int embedding = 0;
    int heads = 0;
    int kvHeads = 0;
    int vocabulary = 0;
    std::string tokenizer;  // "gpt2 / smollm"
    bool hasChatTemplate = false;
    bool runnable = false;
    std::string whyNotRunnable;  // a sentence naming what is missing
};

// The arithmetic of what a load takes, shown before it happens.
struct MemoryBudget {
    std::uint64_t weightBytes = 0;
    std::uint64_t kvBytesPerToken = 0;
    std::uint64_t kvBytes = 0;  // for context × sequences, or the given budget
    std::uint64_t scratchBytes = 0;
    std::uint64_t availableBytes = 0;  // smaller of free memory and the control group's limit
    int context = 0;                   // tokens a sequence may hold, resolved
    int sequences = 1;

    std::uint64_t totalBytes() const { return weightBytes + kvBytes + scratchBytes; }
    bool fits() const { return totalBytes() <= availableBytes; }
};

// The loaded model with its effective settings.
struct LoadedModelInfo {
    ModelInfo model;
    MemoryBudget budget;
    std::string device;       // "CPU"
    std::string isa;          // "avx512"
    std::string description;  // "CPU · AVX-512 VNNI · 2 threads"
    int threads = 0;
    int context = 0;
    int blockCount = 0;
    std::uint64_t blockBytes = 0;
    double loadMs = 0.0;
    std::vector<std::string> warnings;  // e.g. a context longer than trained, missing rope factors
};

}  // namespace tokenscope
