// Where the time of steps goes, by stage. A device adds to it while it is asked to (DeviceModel::profile); the rest of
// the time it costs a step one predictable branch a stage.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace tokenscope::kernels {

enum class Stage {
    Embedding,        // rows of the table, angles of the rotation
    Norms,            // residual, norms, and the quantising of what the next product multiplies
    Qkv,              // products, rotation, cache write
    Attention,        // over the cache, merging of its pieces
    AttentionOutput,  // product
    GateUp,           // two products and the activation
    Down,             // product
    Head,             // logits of the wanted rows
};
inline constexpr std::size_t kStageCount = 8;
inline constexpr std::array<const char*, kStageCount> kStageNames{"embedding",        "norms",   "qkv",  "attention",
                                                                  "attention_output", "gate_up", "down", "head"};

// Times are those of one thread, from leaving a barrier to leaving the next: what it waits for others belongs to the
// stage it waits in.
class StepProfile {
public:
    using Clock = std::chrono::steady_clock;

    // Before a step: what passed since the last one belongs to no stage.
    void start() { m_last = Clock::now(); }
    // The time since the last call belongs to `stage`.
    void add(Stage stage)
    {
        const Clock::time_point now = Clock::now();
        m_ns[static_cast<std::size_t>(stage)] +=
            std::chrono::duration_cast<std::chrono::nanoseconds>(now - m_last).count();
        m_last = now;
    }
    const std::array<std::int64_t, kStageCount>& ns() const { return m_ns; }

private:
    std::array<std::int64_t, kStageCount> m_ns{};
    Clock::time_point m_last;
};

}  // namespace tokenscope::kernels
