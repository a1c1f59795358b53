// The numbers of a model that its metadata state, range-checked; the tensors' shapes are held against them in
// layer_program_builder.cpp.
#pragma once

#include "engine/base/result.h"
#include "engine/gguf/gguf_file.h"
#include "engine/model/architectures.h"

#include <string>
#include <vector>

namespace tokenscope {

// Far above every published model (126 layers, 128 heads, 262,144 tokens); they keep products within 64 bits and a
// damaged file from asking for absurd tables.
inline constexpr int kMaxLayers = 512;
inline constexpr int kMaxHeads = 1'024;
inline constexpr int kMaxHeadDim = 1'024;
inline constexpr int kMaxEmbedding = 65'536;
inline constexpr int kMaxFeedForward = 1 << 20;
inline constexpr int kMaxVocabulary = 1 << 20;
inline constexpr int kMaxContext = 1 << 28;

struct HyperParameters {
    int layers = 0;
    int embedding = 0;
    int feedForward = 0;
    int heads = 0;
    int kvHeads = 0;
    int headDimK = 0;
    int headDimV = 0;
    int vocabulary = 0;
    int trainedContext = 0;
    double normEpsilon = 0.0;
    int ropeDims = 0;
    double ropeBase = 10000.0;
    double localRopeBase = 10000.0;
    double ropeScale = 1.0;  // of positions: 1 / factor
    double attentionSoftcap = 0.0;
    double finalSoftcap = 0.0;
    std::vector<int> windows;  // one a layer, 0 = sees everything
};

// BadFile naming key, value and range; UnsupportedModel for what the file asks for and no layer program can say.
Result<HyperParameters> readHyperParameters(const GgufFile& file, const Architecture& architecture);

}  // namespace tokenscope
