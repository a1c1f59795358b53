#include "kernels/cpu/cpu_backend.h"

#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tokenscope::kernels {
namespace {

#if defined(__x86_64__)

constexpr bool bit(std::uint32_t word, int index)
{
    return (word >> index & 1u) != 0;
}

// XCR0: which registers the operating system saves when it switches threads. A processor may have AVX-512 while the
// system does not keep its registers; then the instructions fault. To be called only if CPUID says OSXSAVE.
std::uint64_t savedRegisters()
{
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return std::uint64_t{high} << 32 | low;
}

// Everything that the flags of *_avx2.cpp and *_avx512.cpp in CMakeLists.txt allow the compiler to emit is asked for
// here, and nothing else. Bits: Intel SDM volume 2, CPUID, leaves 1 and 7.
std::vector<Isa> detect()
{
    std::vector<Isa> found{Isa::Scalar};
    std::uint32_t a = 0;
    std::uint32_t b = 0;
    std::uint32_t c = 0;
    std::uint32_t d = 0;
    if (__get_cpuid(1, &a, &b, &c, &d) == 0)
        return found;
    const bool osxsave = bit(c, 27);
    const bool avx = bit(c, 28);
    const bool fma = bit(c, 12);
    const bool f16c = bit(c, 29);
    if (!osxsave || !avx || __get_cpuid_count(7, 0, &a, &b, &c, &d) == 0)
        return found;

    constexpr std::uint64_t kXmmYmm = 0x06;
    constexpr std::uint64_t kMaskAndZmm = 0xe0;
    const std::uint64_t saved = savedRegisters();
    const bool avx2 = bit(b, 5);
    const bool bmi2 = bit(b, 8);
    if ((saved & kXmmYmm) != kXmmYmm || !avx2 || !fma || !f16c || !bmi2)
        return found;
    found.push_back(Isa::Avx2);

    const bool avx512 = bit(b, 16) && bit(b, 17) && bit(b, 30) && bit(b, 31);  // F, DQ, BW, VL
    const bool vnni = bit(c, 11);
    if ((saved & kMaskAndZmm) == kMaskAndZmm && avx512 && vnni)
        found.push_back(Isa::Avx512);
    return found;
}

#else

std::vector<Isa> detect()
{
    return {Isa::Scalar};
}

#endif

}  // namespace

std::string_view isaName(Isa isa)
{
    switch (isa) {
    case Isa::Scalar:
        return "scalar";
    case Isa::Avx2:
        return "avx2";
    case Isa::Avx512:
        return "avx512";
    }
    return "unknown";
}

const std::vector<Isa>& availableIsas()
{
    static const std::vector<Isa> found = detect();
    return found;
}

}  // namespace tokenscope::kernels
