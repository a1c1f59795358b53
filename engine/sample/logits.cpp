#include "engine/sample/logits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include <fmt/format.h>

namespace tokenscope {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Four logits at once, in the compiler's portable vectors: at -O2 GCC 12 leaves loops over a vocabulary scalar, which
// took a twentieth of a step of gemma3 (262,144 entries).
constexpr std::size_t kLanes = 4;
using Floats = float __attribute__((vector_size(kLanes * sizeof(float))));
using Ints = std::int32_t __attribute__((vector_size(kLanes * sizeof(std::int32_t))));

Floats loadAt(std::span<const float> logits, std::size_t at)
{
    Floats v;
    std::memcpy(&v, logits.data() + at, sizeof v);
    return v;
}

Floats all(float value)
{
    return Floats{} + value;
}

bool anyOf(Ints mask)
{
    std::int64_t parts[kLanes / 2];
    std::memcpy(parts, &mask, sizeof parts);
    std::int64_t any = 0;
    for (const std::int64_t part : parts)
        any |= part;
    return any != 0;
}

// Calls visit(id) for the logits above `threshold` (or equal to it), ids ascending. `threshold` may rise meanwhile:
// it is read anew after each visit.
template <typename Visit>
void forEachAbove(std::span<const float> logits, const float& threshold, bool orEqual, std::size_t begin, Visit visit)
{
    const auto isAbove = [&](float v) { return v > threshold || (orEqual && v == threshold); };
    std::size_t id = begin;
    for (; id + 4 * kLanes <= logits.size(); id += 4 * kLanes) {
        Ints mask{};
        for (std::size_t part = 0; part < 4; ++part) {
            const Floats v = loadAt(logits, id + part * kLanes);
            mask |= orEqual ? v >= all(threshold) : v > all(threshold);
        }
        if (!anyOf(mask))
            continue;
        for (std::size_t i = id; i < id + 4 * kLanes; ++i)
            if (isAbove(logits[i]))
                visit(i);
    }
    for (; id < logits.size(); ++id)
        if (isAbove(logits[id]))
            visit(id);
}

// e^x for x ≤ 0, largest relative error 2e-7; 0 below −87. 2^(n + f) with a polynomial of degree 6 for 2^f on
// [−½, ½] (Taylor's, of e^(f ln 2)).
Floats expOf(Floats x)
{
    const Floats clamped = x > all(-87.0f) ? x : all(-87.0f);
    const Floats scaled = clamped * 1.44269504f;
    const Floats shift = all(12582912.0f);  // 1.5 · 2^23: adding it rounds to a whole number
    const Floats whole = (scaled + shift) - shift;
    // x − whole · ln 2 in two parts, so that nothing is lost.
    const Floats r = (clamped - whole * 0.693359375f) + whole * 2.12194440e-4f;
    Floats sum = r * (1.0f / 720.0f) + 1.0f / 120.0f;
    sum = sum * r + 1.0f / 24.0f;
    sum = sum * r + 1.0f / 6.0f;
    sum = sum * r + 0.5f;
    sum = sum * r + 1.0f;
    sum = sum * r + 1.0f;
    const Ints exponent = (__builtin_convertvector(whole, Ints) + 127) << 23;
    Floats power;
    std::memcpy(&power, &exponent, sizeof power);
    return x > all(-87.0f) ? sum * power : Floats{};
}

// The order of candidates: by logit, then by id.
bool before(const TopLogit& a, const TopLogit& b)
{
    return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
}

// Distance to the largest logit in 1/16ths. The last bucket holds everything e^−32 and less likely.
constexpr int kBuckets = 512;
int bucketOf(float logit, float largest)
{
    const float distance = (largest - logit) * 16.0f;
    return distance < static_cast<float>(kBuckets - 1) ? static_cast<int>(distance) : kBuckets - 1;
}

// Shortens `members` to the fewest first ones (in the order of candidates) whose weights reach `missing`.
void keepUntil(std::vector<TopLogit>& members, float largest, double missing)
{
    auto begin = members.begin();
    auto end = members.end();
    // Halves the range that holds the border until sorting it costs nothing.
    while (end - begin > 64) {
        const auto middle = begin + (end - begin) / 2;
        std::nth_element(begin, middle, end, before);
        double mass = 0.0;
        for (auto it = begin; it != middle; ++it)
            mass += static_cast<double>(std::exp(it->logit - largest));
        if (mass >= missing) {
            end = middle;
        } else {
            missing -= mass;
            begin = middle;
        }
    }
    std::sort(begin, end, before);
    while (begin != end && missing > 0.0) {
        missing -= static_cast<double>(std::exp(begin->logit - largest));
        ++begin;
    }
    members.erase(begin, members.end());
}

}  // namespace

Result<float> largestLogit(std::span<const float> logits)
{
    Floats best = all(-kInfinity);
    Ints good = Ints{} - 1;
    std::size_t id = 0;
    for (; id + kLanes <= logits.size(); id += kLanes) {
        const Floats v = loadAt(logits, id);
        good &= v < all(kInfinity);  // also false for NaN
        best = v > best ? v : best;
    }
    float largest = -kInfinity;
    for (std::size_t lane = 0; lane < kLanes; ++lane)
        largest = std::max(largest, best[lane]);
    bool isGood = !anyOf(~good);
    for (; id < logits.size(); ++id) {
        isGood = isGood && logits[id] < kInfinity;
        largest = logits[id] > largest ? logits[id] : largest;
    }
    if (!isGood) {
        const auto at = std::find_if(logits.begin(), logits.end(), [](float v) { return !(v < kInfinity); });
        return fail(ErrorCode::NotANumber,
                    "the logit of token {} is {}: the model computed no number; try kv=f32, else the "
                    "file is damaged",
                    at - logits.begin(), std::isnan(*at) ? "NaN" : "infinite");
    }
    if (largest == -kInfinity)
        return fail(ErrorCode::NotANumber, "all {} logits are −infinity", logits.size());
    return largest;
}

TokenId firstOf(std::span<const float> logits, float value)
{
    for (std::size_t begin = 0; begin < logits.size(); begin += kLanes) {
        const std::size_t end = std::min(begin + kLanes, logits.size());
        if (end - begin == kLanes && !anyOf(loadAt(logits, begin) == all(value)))
            continue;
        for (std::size_t id = begin; id < end; ++id)
            if (logits[id] == value)
                return static_cast<TokenId>(id);
    }
    return -1;
}

void selectAtLeast(std::span<const float> logits, float threshold, std::vector<TopLogit>& out)
{
    out.clear();
    forEachAbove(logits, threshold, true, 0,
                 [&](std::size_t id) { out.push_back({static_cast<TokenId>(id), logits[id]}); });
}

void selectLargest(std::span<const float> logits, int k, std::vector<TopLogit>& out)
{
    out.clear();
    const std::size_t wanted = std::min(static_cast<std::size_t>(std::max(k, 0)), logits.size());
    if (wanted == 0)
        return;
    // A heap with the worst candidate on top. Ids ascend, so that an equal logit that comes later is never better.
    out.reserve(wanted);
    for (std::size_t id = 0; id < wanted; ++id)
        out.push_back({static_cast<TokenId>(id), logits[id]});
    std::make_heap(out.begin(), out.end(), before);
    float worst = out.front().logit;
    forEachAbove(logits, worst, false, wanted, [&](std::size_t id) {
        std::pop_heap(out.begin(), out.end(), before);
        out.back() = {static_cast<TokenId>(id), logits[id]};
        std::push_heap(out.begin(), out.end(), before);
        worst = out.front().logit;
    });
    std::sort_heap(out.begin(), out.end(), before);
}

double expSums(std::span<const float> logits, float largest, float inverseTemperature, std::vector<double>* pieces)
{
    if (pieces)
        pieces->clear();
    double total = 0.0;
    for (std::size_t begin = 0; begin < logits.size(); begin += kSumPiece) {
        const auto piece = logits.subspan(begin, std::min(kSumPiece, logits.size() - begin));
        Floats sums{};
        std::size_t id = 0;
        for (; id + kLanes <= piece.size(); id += kLanes)
            sums += expOf((loadAt(piece, id) - largest) * inverseTemperature);
        if (id < piece.size()) {
            Floats rest = all(-kInfinity);
            for (std::size_t lane = 0; id + lane < piece.size(); ++lane)
                rest[lane] = piece[id + lane];
            sums += expOf((rest - largest) * inverseTemperature);
        }
        double sum = 0.0;
        for (std::size_t lane = 0; lane < kLanes; ++lane)
            sum += static_cast<double>(sums[lane]);
        if (pieces)
            pieces->push_back(sum);
        total += sum;
    }
    return total;
}

TokenId drawFromAll(std::span<const float> logits, float largest, float inverseTemperature, double uniform,
                    std::vector<double>& pieces)
{
    double target = uniform * expSums(logits, largest, inverseTemperature, &pieces);
    std::size_t piece = 0;
    while (piece + 1 < pieces.size() && pieces[piece] <= target)
        target -= pieces[piece++];
    const std::size_t begin = piece * kSumPiece, end = std::min(begin + kSumPiece, logits.size());
    TokenId chosen = -1;
    double sum = 0.0;
    for (std::size_t id = begin; id < end; id += kLanes) {
        Floats v = all(-kInfinity);
        for (std::size_t lane = 0; id + lane < end && lane < kLanes; ++lane)
            v[lane] = logits[id + lane];
        const Floats weights = expOf((v - largest) * inverseTemperature);
        for (std::size_t lane = 0; id + lane < end && lane < kLanes; ++lane) {
            if (weights[lane] > 0.0f)
                chosen = static_cast<TokenId>(id + lane);  // where rounding leaves the sum short, the last possible one
            sum += static_cast<double>(weights[lane]);
            if (sum > target)
                return chosen;
        }
    }
    return chosen >= 0 ? chosen : firstOf(logits, largest);
}

double logSumExp(std::span<const float> logits, float largest)
{
    return static_cast<double>(largest) + std::log(expSums(logits, largest, 1.0f, nullptr));
}

void selectNucleus(std::span<const float> logits, float largest, double p, std::vector<TopLogit>& out)
{
    std::array<double, kBuckets> mass{};
    for (std::size_t begin = 0; begin < logits.size(); begin += kLanes) {
        const std::size_t count = std::min(kLanes, logits.size() - begin);
        Floats v = all(-kInfinity);
        if (count == kLanes)
            v = loadAt(logits, begin);
        else
            for (std::size_t lane = 0; lane < count; ++lane)
                v[lane] = logits[begin + lane];
        const Floats weights = expOf(v - largest);
        for (std::size_t lane = 0; lane < count; ++lane)
            mass[static_cast<std::size_t>(bucketOf(v[lane], largest))] += static_cast<double>(weights[lane]);
    }
    double total = 0.0;
    for (const double m : mass)
        total += m;
    int border = 0;
    double missing = p * total;
    while (border < kBuckets - 1 && mass[static_cast<std::size_t>(border)] < missing) {
        missing -= mass[static_cast<std::size_t>(border)];
        ++border;
    }

    out.clear();
    std::vector<TopLogit> members;  // of the bucket where the sum crosses p
    // A sixteenth lower than the border, so that rounding loses nobody; the buckets decide.
    const float lowest = border == kBuckets - 1 ? std::numeric_limits<float>::lowest()
                                                : largest - static_cast<float>(border + 2) / 16.0f;
    forEachAbove(logits, lowest, true, 0, [&](std::size_t id) {
        const int bucket = bucketOf(logits[id], largest);
        if (bucket < border)
            out.push_back({static_cast<TokenId>(id), logits[id]});
        else if (bucket == border)
            members.push_back({static_cast<TokenId>(id), logits[id]});
    });
    keepUntil(members, largest, missing);
    if (out.empty() && members.empty()) {
        selectLargest(logits, 1, out);
        return;
    }
    const auto byId = [](const TopLogit& a, const TopLogit& b) { return a.id < b.id; };
    std::sort(members.begin(), members.end(), byId);
    const auto middle = static_cast<std::ptrdiff_t>(out.size());  // these came in id order
    out.insert(out.end(), members.begin(), members.end());
    std::inplace_merge(out.begin(), out.begin() + middle, out.end(), byId);
}

}  // namespace tokenscope
