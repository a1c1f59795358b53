#include "engine/sample/logits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace tokenscope {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

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
    // Side by side, so that no logit waits for the one before and the compiler makes vector code of it; without an exit
    // inside a piece of cache size. A maximum does not depend on the order.
    constexpr std::size_t kPiece = 4096, kLanes = 16;
    std::array<float, kLanes> lanes;
    lanes.fill(-kInfinity);
    for (std::size_t begin = 0; begin < logits.size(); begin += kPiece) {
        const auto piece = logits.subspan(begin, std::min(kPiece, logits.size() - begin));
        std::array<int, kLanes> bad{};
        std::size_t i = 0;
        for (; i + kLanes <= piece.size(); i += kLanes) {
            for (std::size_t lane = 0; lane < kLanes; ++lane) {
                const float v = piece[i + lane];
                bad[lane] |= static_cast<int>(!(v < kInfinity));  // also true for NaN
                lanes[lane] = v > lanes[lane] ? v : lanes[lane];
            }
        }
        for (; i < piece.size(); ++i) {
            bad[0] |= static_cast<int>(!(piece[i] < kInfinity));
            lanes[0] = std::max(lanes[0], piece[i]);
        }
        if (std::any_of(bad.begin(), bad.end(), [](int b) { return b != 0; })) {
            const auto at = std::find_if(piece.begin(), piece.end(), [](float v) { return !(v < kInfinity); });
            const auto id = begin + static_cast<std::size_t>(at - piece.begin());
            return fail(ErrorCode::NotANumber,
                        "the logit of token {} is {}: the model computed no number; try kv=f32, else the "
                        "file is damaged",
                        id, std::isnan(*at) ? "NaN" : "infinite");
        }
    }
    const float largest = *std::max_element(lanes.begin(), lanes.end());
    if (largest == -kInfinity)
        return fail(ErrorCode::NotANumber, "all {} logits are −infinity", logits.size());
    return largest;
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
    for (std::size_t id = wanted; id < logits.size(); ++id) {
        if (!(logits[id] > worst))
            continue;
        std::pop_heap(out.begin(), out.end(), before);
        out.back() = {static_cast<TokenId>(id), logits[id]};
        std::push_heap(out.begin(), out.end(), before);
        worst = out.front().logit;
    }
    std::sort_heap(out.begin(), out.end(), before);
}

double logSumExp(std::span<const float> logits, float largest)
{
    double sum = 0.0;
    for (float v : logits)
        sum += static_cast<double>(std::exp(v - largest));
    return static_cast<double>(largest) + std::log(sum);
}

void selectNucleus(std::span<const float> logits, float largest, double p, std::vector<TopLogit>& out)
{
    std::array<double, kBuckets> mass{};
    for (float v : logits)
        mass[static_cast<std::size_t>(bucketOf(v, largest))] += static_cast<double>(std::exp(v - largest));
    double total = 0.0;
    for (double m : mass)
        total += m;

    int border = 0;
    double missing = p * total;
    while (border < kBuckets - 1 && mass[static_cast<std::size_t>(border)] < missing) {
        missing -= mass[static_cast<std::size_t>(border)];
        ++border;
    }

    out.clear();
    std::vector<TopLogit> members;  // of the bucket where the sum crosses p
    for (std::size_t id = 0; id < logits.size(); ++id) {
        if (logits[id] == -kInfinity)
            continue;
        const int bucket = bucketOf(logits[id], largest);
        if (bucket < border)
            out.push_back({static_cast<TokenId>(id), logits[id]});
        else if (bucket == border)
            members.push_back({static_cast<TokenId>(id), logits[id]});
    }
    keepUntil(members, largest, missing);
    out.insert(out.end(), members.begin(), members.end());
    if (out.empty()) {
        selectLargest(logits, 1, out);
        return;
    }
    std::sort(out.begin(), out.end(), [](const TopLogit& a, const TopLogit& b) { return a.id < b.id; });
}

}  // namespace tokenscope
