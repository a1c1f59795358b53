#include "tests/support/random_weights.h"

#include "kernels/reference/half.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <ostream>
#include <sstream>

namespace tokenscope::test {
namespace {

using kernels::DType;

// Where a block keeps its f16 scale and, if it has one, its f16 minimum; all other bytes may be anything. `rms` is the
// root mean square of the elements at scale 1 with evenly drawn bits; minimum = scale · minimumFactor centres them.
struct ScalePlan {
    int scaleAt = 0;
    int minimumAt = -1;
    double minimumFactor = 0.0;
    double rms = 1.0;
};

ScalePlan scalePlan(DType type)
{
    switch (type) {
    case DType::Q4_0:
        return {0, -1, 0.0, 4.6};
    case DType::Q4_1:
        return {0, 2, -7.5, 4.6};
    case DType::Q5_0:
        return {0, -1, 0.0, 9.2};
    case DType::Q5_1:
        return {0, 2, -15.5, 9.2};
    case DType::Q8_0:
        return {0, -1, 0.0, 74.0};
    case DType::Q2_K:
        return {80, 82, 1.5, 13.9};  // scale · q − minimum · m, both factors 4 bits
    case DType::Q3_K:
        return {108, -1, 0.0, 42.0};  // (6-bit scale − 32) · (q − 4)
    case DType::Q4_K:
        return {0, 2, 7.5, 258.0};  // factors of 6 bits
    case DType::Q5_K:
        return {0, 2, 15.5, 533.0};
    case DType::Q6_K:
        return {208, -1, 0.0, 1368.0};  // int8 scale · (q − 32)
    default:
        return {};
    }
}

void putHalf(char* to, double value)
{
    const std::uint16_t half = kernels::f32ToF16(static_cast<float>(value));
    std::memcpy(to, &half, 2);
}

// √3 · an even draw from −1 to 1 has a root mean square of 1.
float plainElement(RandomBits& random, double spread)
{
    return static_cast<float>(random.symmetric() * std::sqrt(3.0) * spread);
}

void fillPlain(std::string& bytes, DType type, std::uint64_t elements, double spread, RandomBits& random)
{
    for (std::uint64_t i = 0; i < elements; ++i) {
        const float value = plainElement(random, spread);
        if (type == DType::F32)
            std::memcpy(bytes.data() + i * 4, &value, 4);
        else if (type == DType::F16)
            putHalf(bytes.data() + i * 2, value);
        else {
            const auto upper = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
            std::memcpy(bytes.data() + i * 2, &upper, 2);
        }
    }
}

void fillBlocks(std::string& bytes, DType type, double spread, RandomBits& random)
{
    for (std::size_t at = 0; at < bytes.size(); at += 8) {
        const std::uint64_t word = random.next();
        std::memcpy(bytes.data() + at, &word, std::min<std::size_t>(8, bytes.size() - at));
    }
    const ScalePlan plan = scalePlan(type);
    const auto blockBytes = static_cast<std::size_t>(kernels::dtypeInfo(type).blockBytes);
    for (std::size_t block = 0; block + blockBytes <= bytes.size(); block += blockBytes) {
        const double scale = spread / plan.rms * (1.0 + 0.5 * random.symmetric());
        putHalf(bytes.data() + block + plan.scaleAt, scale);
        if (plan.minimumAt >= 0)
            putHalf(bytes.data() + block + plan.minimumAt, scale * plan.minimumFactor);
    }
}

}  // namespace

void writeRandomTensor(std::ostream& out, DType type, std::uint64_t elements, double spread, std::uint64_t seed)
{
    RandomBits random(seed);
    constexpr std::uint64_t kPieceElements = 256 * 1024;  // a multiple of every block
    while (elements > 0) {
        const std::uint64_t now = std::min(elements, kPieceElements);
        std::string bytes(kernels::rowBytes(type, static_cast<std::int64_t>(now)), '\0');
        if (kernels::dtypeInfo(type).blockElements == 1)
            fillPlain(bytes, type, now, spread, random);
        else
            fillBlocks(bytes, type, spread, random);
        out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        elements -= now;
    }
}

std::string randomTensor(DType type, std::uint64_t elements, double spread, std::uint64_t seed)
{
    std::ostringstream out;
    writeRandomTensor(out, type, elements, spread, seed);
    return std::move(out).str();
}

std::string randomVector(std::uint64_t elements, double centre, double variation, std::uint64_t seed)
{
    RandomBits random(seed);
    std::string bytes(elements * 4, '\0');
    for (std::uint64_t i = 0; i < elements; ++i) {
        const float value = static_cast<float>(centre * (1.0 + variation * random.symmetric()));
        std::memcpy(bytes.data() + i * 4, &value, 4);
    }
    return bytes;
}

}  // namespace tokenscope::test
