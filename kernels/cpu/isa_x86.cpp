// x86-64: AVX2 and AVX-512, told by CPUID.
#include "kernels/cpu/isa_tables.h"
#include "kernels/cpu/matmul_kernels.h"
#include "kernels/cpu/step_kernel_tables.h"
#include "kernels/cpu/vocabulary_kernels.h"

#include <cstdint>

#include <cpuid.h>

namespace tokenscope::kernels {
namespace {

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

}  // namespace

// Everything that the flags of *_avx2.cpp and *_avx512.cpp in CMakeLists.txt allow the compiler to emit is asked for
// here, and nothing else. Bits: Intel SDM volume 2, CPUID, leaves 1 and 7.
std::vector<Isa> detectVectorIsas()
{
    std::uint32_t a = 0;
    std::uint32_t b = 0;
    std::uint32_t c = 0;
    std::uint32_t d = 0;
    if (__get_cpuid(1, &a, &b, &c, &d) == 0)
        return {};
    const bool osxsave = bit(c, 27);
    const bool avx = bit(c, 28);
    const bool fma = bit(c, 12);
    const bool f16c = bit(c, 29);
    if (!osxsave || !avx || __get_cpuid_count(7, 0, &a, &b, &c, &d) == 0)
        return {};

    constexpr std::uint64_t kXmmYmm = 0x06;
    constexpr std::uint64_t kMaskAndZmm = 0xe0;
    const std::uint64_t saved = savedRegisters();
    const bool avx2 = bit(b, 5);
    const bool bmi2 = bit(b, 8);
    if ((saved & kXmmYmm) != kXmmYmm || !avx2 || !fma || !f16c || !bmi2)
        return {};

    const bool avx512 = bit(b, 16) && bit(b, 17) && bit(b, 30) && bit(b, 31);  // F, DQ, BW, VL
    const bool vnni = bit(c, 11);
    if ((saved & kMaskAndZmm) == kMaskAndZmm && avx512 && vnni)
        return {Isa::Avx2, Isa::Avx512};
    return {Isa::Avx2};
}

std::vector<Isa> compiledIsas()
{
    return {Isa::Scalar, Isa::Avx2, Isa::Avx512};
}

IsaTables isaTables(Isa isa)
{
    if (isa == Isa::Avx512)
        return {avx512MatmulKernels(), stepKernelsAvx512(), kCeilingsAvx512, vocabularyKernelsAvx512()};
    if (isa == Isa::Avx2)
        return {avx2MatmulKernels(), stepKernelsAvx2(), kCeilingsAvx2, vocabularyKernelsAvx2()};
    return scalarTables();
}

}  // namespace tokenscope::kernels
