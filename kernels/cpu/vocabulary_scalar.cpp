// Four lanes in the compiler's own vectors: SSE2, NEON, or plain code.
#include "kernels/cpu/vocabulary_kernels.h"

namespace tokenscope::kernels {
namespace {

constexpr int kLanes = 4;

// Sixteen entries at a time, because most have none.
int selectChunk(const float* chunk, float low, float high, std::int32_t firstId, std::int32_t* ids)
{
    constexpr int kTogether = 16;
    int count = 0;
    for (int begin = 0; begin < kLogitChunk; begin += kTogether) {
        int any = 0;
        for (int i = begin; i < begin + kTogether; ++i)
            any |= static_cast<int>(chunk[i] >= low) & static_cast<int>(chunk[i] <= high);
        if (any == 0)
            continue;
        for (int i = begin; i < begin + kTogether; ++i) {
            ids[count] = firstId + i;
            count += static_cast<int>(chunk[i] >= low) & static_cast<int>(chunk[i] <= high);
        }
    }
    return count;
}

inline float __attribute__((vector_size(16))) gather(const float* const* from, int at)
{
    float __attribute__((vector_size(16))) v;
    __builtin_memcpy(&v, from[0] + at, sizeof v);
    return v;
}

}  // namespace
}  // namespace tokenscope::kernels

#include "kernels/cpu/vocabulary_body.h"

namespace tokenscope::kernels {

const VocabularyKernels& vocabularyKernelsScalar()
{
    return kVocabularyKernels;
}

}  // namespace tokenscope::kernels
