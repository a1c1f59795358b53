// Quantising with NEON; the plain twin in matmul_scalar.cpp states the rules.
#include "kernels/cpu/matmul_dispatch.h"
#include "kernels/cpu/matmul_kernels.h"
#include "kernels/cpu/matmul_quantize.h"

#include <arm_neon.h>

namespace tokenscope::kernels {
namespace {

using namespace layout;

void quantizeBlock(const float* x, ActivationBlock& out)
{
    const uint32x4_t absolute = vdupq_n_u32(0x7fffffffu);
    uint32x4_t maxBits = vdupq_n_u32(0);
    float32x4_t v[8];
    for (int i = 0; i < 8; ++i) {
        v[i] = vld1q_f32(x + 4 * i);
        maxBits = vmaxq_u32(maxBits, vandq_u32(vreinterpretq_u32_f32(v[i]), absolute));
    }
    float inverse = 0.0f;
    out.scale = blockScale(vmaxvq_u32(maxBits), inverse);
    if (inverse == 0.0f) {
        setWithoutValues(out);
        return;
    }
    std::int32_t sums[2];
    for (int half = 0; half < 2; ++half) {
        int32x4_t q[4];
        for (int i = 0; i < 4; ++i)
            q[i] = vcvtnq_s32_f32(vmulq_n_f32(v[4 * half + i], inverse));  // to nearest, ties to even
        const int16x8_t words01 = vcombine_s16(vmovn_s32(q[0]), vmovn_s32(q[1]));
        const int16x8_t words23 = vcombine_s16(vmovn_s32(q[2]), vmovn_s32(q[3]));
        vst1q_s8(out.q + 16 * half, vcombine_s8(vmovn_s16(words01), vmovn_s16(words23)));
        sums[half] = vaddvq_s32(vaddq_s32(vaddq_s32(q[0], q[1]), vaddq_s32(q[2], q[3])));
    }
    setSums(out, sums[0], sums[1]);
}

}  // namespace

void quantizeNeon(const float* x, std::ptrdiff_t xStride, int rowBegin, int rowEnd, bool forFloatWeights,
                  Activations& activations)
{
    quantizeRows(&quantizeBlock, x, xStride, rowBegin, rowEnd, forFloatWeights, activations);
}

}  // namespace tokenscope::kernels
