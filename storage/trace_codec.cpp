// The format, version 1. Every number is a varint: seven bits a byte, low bits first, the top bit set where more
// follow. "delta" numbers are the difference to the same field of the record before (the first: to 0, of times to
// `submitted`), mapped 0, −1, 1, −2 … → 0, 1, 2, 3 … so that small ones of either sign are short.
//
//   'T' 'S' 'T' 1
//   submitted (ns)
//   five times, each 0 for absent or 1 and delta to submitted: scheduled, tokenised, admitted, stopped, teardown
//   promptTokens cachedTokens droppedBytes kvBlocksPeak kvBytesPeak reason
//   count of chunks; each: endNs delta, tokens, stepId delta
//   count of tokens; each: committedNs delta, stepId delta, committedInStep, draftedInStep,
//                          textBegin − textEnd of the one before (signed), textEnd − textBegin (signed)
//   count of steps;  each: stepId delta, startNs − endNs of the one before (signed), computedNs − startNs (signed),
//                          endNs − computedNs (signed), rows, prefillRows, sequences, weightBytes delta, kvReadBytes
//                          delta, kvWriteBytes delta, macs delta, newBlocks, kvBlocksUsed delta
//
// A change of this list is a new version number; versions once written are read for ever.
#include "storage/trace_codec.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <optional>

namespace tokenscope {
namespace {

constexpr std::array kMagic{std::byte{'T'}, std::byte{'S'}, std::byte{'T'}};
constexpr std::byte kVersion{1};

class Packer {
public:
    void number(std::uint64_t value)
    {
        while (value >= 0x80) {
            m_bytes.push_back(static_cast<std::byte>(value | 0x80));
            value >>= 7;
        }
        m_bytes.push_back(static_cast<std::byte>(value));
    }
    void signedNumber(std::int64_t value)
    {
        number((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
    }
    // Wraps around on purpose: any two 64-bit values have a difference, and adding it gives the second again.
    void delta(std::uint64_t value, std::uint64_t before) { signedNumber(static_cast<std::int64_t>(value - before)); }
    void time(std::int64_t value, std::int64_t before)
    {
        delta(static_cast<std::uint64_t>(value), static_cast<std::uint64_t>(before));
    }
    void byte(std::byte value) { m_bytes.push_back(value); }
    std::vector<std::byte> take() { return std::move(m_bytes); }

private:
    std::vector<std::byte> m_bytes;
};

// Past the end everything reads as 0 and `good()` turns false.
class Unpacker {
public:
    explicit Unpacker(std::span<const std::byte> bytes) : m_bytes(bytes) {}

    std::uint64_t number()
    {
        std::uint64_t value = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            if (m_position == m_bytes.size())
                break;
            const auto byte = std::to_integer<std::uint64_t>(m_bytes[m_position++]);
            value |= (byte & 0x7f) << shift;
            if (!(byte & 0x80))
                return value;
        }
        m_good = false;
        m_position = m_bytes.size();
        return 0;
    }
    std::int64_t signedNumber()
    {
        const std::uint64_t value = number();
        return static_cast<std::int64_t>((value >> 1) ^ (~(value & 1) + 1));
    }
    std::uint64_t delta(std::uint64_t before) { return before + static_cast<std::uint64_t>(signedNumber()); }
    std::int64_t time(std::int64_t before)
    {
        return static_cast<std::int64_t>(delta(static_cast<std::uint64_t>(before)));
    }
    int smallNumber() { return static_cast<int>(number()); }

    // A count whose records take at least `leastBytes` each: checked before anything is allocated.
    std::size_t count(std::size_t leastBytes)
    {
        const std::uint64_t value = number();
        if (value > (m_bytes.size() - m_position) / leastBytes) {
            m_good = false;
            return 0;
        }
        return static_cast<std::size_t>(value);
    }
    bool good() const { return m_good; }
    bool atEnd() const { return m_position == m_bytes.size(); }

private:
    std::span<const std::byte> m_bytes;
    std::size_t m_position = 0;
    bool m_good = true;
};

void packOptional(Packer& out, const std::optional<Nanoseconds>& time, Nanoseconds submitted)
{
    out.number(time ? 1 : 0);
    if (time)
        out.time(*time, submitted);
}

std::optional<Nanoseconds> unpackOptional(Unpacker& in, Nanoseconds submitted)
{
    return in.number() ? std::optional(in.time(submitted)) : std::nullopt;
}

}  // namespace

std::vector<std::byte> packTrace(const RequestTrace& trace)
{
    Packer out;
    for (std::byte letter : kMagic)
        out.byte(letter);
    out.byte(kVersion);

    const Nanoseconds submitted = trace.submittedNs;
    out.time(submitted, 0);
    for (const auto* time :
         {&trace.scheduledNs, &trace.tokenisedNs, &trace.admittedNs, &trace.stoppedNs, &trace.teardownNs})
        packOptional(out, *time, submitted);
    out.number(static_cast<std::uint64_t>(trace.promptTokens));
    out.number(static_cast<std::uint64_t>(trace.cachedTokens));
    out.number(static_cast<std::uint64_t>(trace.droppedBytes));
    out.number(static_cast<std::uint64_t>(trace.kvBlocksPeak));
    out.number(trace.kvBytesPeak);
    out.number(static_cast<std::uint64_t>(trace.reason));

    out.number(trace.chunks.size());
    ChunkStamp chunkBefore{.endNs = submitted};
    for (const ChunkStamp& chunk : trace.chunks) {
        out.time(chunk.endNs, chunkBefore.endNs);
        out.number(static_cast<std::uint64_t>(chunk.tokens));
        out.delta(chunk.stepId, chunkBefore.stepId);
        chunkBefore = chunk;
    }

    out.number(trace.tokens.size());
    TokenStamp tokenBefore{.committedNs = submitted};
    for (const TokenStamp& token : trace.tokens) {
        out.time(token.committedNs, tokenBefore.committedNs);
        out.delta(token.stepId, tokenBefore.stepId);
        out.number(static_cast<std::uint64_t>(token.committedInStep));
        out.number(static_cast<std::uint64_t>(token.draftedInStep));
        out.delta(token.textBegin, tokenBefore.textEnd);
        out.delta(token.textEnd, token.textBegin);
        tokenBefore = token;
    }

    out.number(trace.steps.size());
    StepRecord stepBefore{.endNs = submitted};
    for (const StepRecord& step : trace.steps) {
        out.delta(step.stepId, stepBefore.stepId);
        out.time(step.startNs, stepBefore.endNs);
        out.time(step.computedNs, step.startNs);
        out.time(step.endNs, step.computedNs);
        out.number(static_cast<std::uint64_t>(step.rows));
        out.number(static_cast<std::uint64_t>(step.prefillRows));
        out.number(static_cast<std::uint64_t>(step.sequences));
        out.delta(step.weightBytes, stepBefore.weightBytes);
        out.delta(step.kvReadBytes, stepBefore.kvReadBytes);
        out.delta(step.kvWriteBytes, stepBefore.kvWriteBytes);
        out.delta(step.macs, stepBefore.macs);
        out.number(static_cast<std::uint64_t>(step.newBlocks));
        out.delta(static_cast<std::uint64_t>(step.kvBlocksUsed), static_cast<std::uint64_t>(stepBefore.kvBlocksUsed));
        stepBefore = step;
    }
    return out.take();
}

Result<RequestTrace> unpackTrace(std::span<const std::byte> bytes)
{
    if (bytes.size() < 4 || bytes[0] != kMagic[0] || bytes[1] != kMagic[1] || bytes[2] != kMagic[2])
        return fail(ErrorCode::DamagedDatabase, "the stored measurements of a run do not begin with TST");
    if (bytes[3] != kVersion)
        return fail(ErrorCode::DamagedDatabase, "the stored measurements of a run have version {}, expected 1",
                    std::to_integer<int>(bytes[3]));
    Unpacker in(bytes.subspan(4));
    RequestTrace trace;
    trace.submittedNs = in.time(0);
    const Nanoseconds submitted = trace.submittedNs;
    for (auto* time : {&trace.scheduledNs, &trace.tokenisedNs, &trace.admittedNs, &trace.stoppedNs, &trace.teardownNs})
        *time = unpackOptional(in, submitted);
    trace.promptTokens = in.smallNumber();
    trace.cachedTokens = in.smallNumber();
    trace.droppedBytes = in.smallNumber();
    trace.kvBlocksPeak = in.smallNumber();
    trace.kvBytesPeak = in.number();
    const std::uint64_t reason = in.number();
    if (reason > static_cast<std::uint64_t>(StopReason::Error))
        return fail(ErrorCode::DamagedDatabase, "the stored measurements of a run have the unknown stop reason {}",
                    reason);
    trace.reason = static_cast<StopReason>(reason);

    trace.chunks.resize(in.count(3));
    ChunkStamp chunkBefore{.endNs = submitted};
    for (ChunkStamp& chunk : trace.chunks) {
        chunk.endNs = in.time(chunkBefore.endNs);
        chunk.tokens = in.smallNumber();
        chunk.stepId = static_cast<std::uint32_t>(in.delta(chunkBefore.stepId));
        chunkBefore = chunk;
    }

    trace.tokens.resize(in.count(6));
    TokenStamp tokenBefore{.committedNs = submitted};
    for (TokenStamp& token : trace.tokens) {
        token.committedNs = in.time(tokenBefore.committedNs);
        token.stepId = static_cast<std::uint32_t>(in.delta(tokenBefore.stepId));
        token.committedInStep = in.smallNumber();
        token.draftedInStep = in.smallNumber();
        token.textBegin = static_cast<std::uint32_t>(in.delta(tokenBefore.textEnd));
        token.textEnd = static_cast<std::uint32_t>(in.delta(token.textBegin));
        tokenBefore = token;
    }

    trace.steps.resize(in.count(13));
    StepRecord stepBefore{.endNs = submitted};
    for (StepRecord& step : trace.steps) {
        step.stepId = static_cast<std::uint32_t>(in.delta(stepBefore.stepId));
        step.startNs = in.time(stepBefore.endNs);
        step.computedNs = in.time(step.startNs);
        step.endNs = in.time(step.computedNs);
        step.rows = in.smallNumber();
        step.prefillRows = in.smallNumber();
        step.sequences = in.smallNumber();
        step.weightBytes = in.delta(stepBefore.weightBytes);
        step.kvReadBytes = in.delta(stepBefore.kvReadBytes);
        step.kvWriteBytes = in.delta(stepBefore.kvWriteBytes);
        step.macs = in.delta(stepBefore.macs);
        step.newBlocks = in.smallNumber();
        step.kvBlocksUsed = static_cast<int>(in.delta(static_cast<std::uint64_t>(stepBefore.kvBlocksUsed)));
        stepBefore = step;
    }
    if (!in.good() || !in.atEnd())
        return fail(ErrorCode::DamagedDatabase, "the stored measurements of a run are not whole ({} bytes)",
                    bytes.size());
    return trace;
}

}  // namespace tokenscope
