#include "engine/model/architectures.h"

#include <array>

namespace tokenscope {
namespace {

using kernels::Activation;
using kernels::RopePairing;

constexpr std::array<Architecture, 2> kArchitectures{{
    // Llama 2 and 3, SmolLM2, Mistral, TinyLlama. The converters permute the rows of q and k, so that adjacent elements
    // rotate together, which the published weights do not.
    {
        .name = "llama",
        .pairing = RopePairing::Adjacent,
        .activation = Activation::Silu,
        .optionalBiases = true,
        .ropeFactors = true,
    },
    // Gemma 3 (Gemma Team 2025, section 2). The norm weights in the files already hold the "1 + w" of the paper's code.
    // Local layers rotate with base 10,000 whatever the file says of the global ones. The 27B model, the only one of 62
    // layers, divides by the root of embedding/heads instead of the head size.
    {
        .name = "gemma3",
        .pairing = RopePairing::HalfSplit,
        .activation = Activation::GeluTanh,
        .headNorms = true,
        .postNorms = true,
        .scaledEmbedding = true,
        .softcaps = true,
        .globalEvery = 6,
        .localRopeBase = 10000.0,
        .modelWideScaleLayers = 62,
    },
}};

}  // namespace

const Architecture* findArchitecture(std::string_view name)
{
    for (const Architecture& each : kArchitectures)
        if (each.name == name)
            return &each;
    return nullptr;
}

std::span<const Architecture> architectures()
{
    return kArchitectures;
}

std::string architectureNames()
{
    std::string names;
    for (const Architecture& each : kArchitectures)
        names += (names.empty() ? "" : ", ") + std::string(each.name);
    return names;
}

}  // namespace tokenscope
