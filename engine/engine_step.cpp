// One step: plan, compute, sample, commit, tell.
#include "engine/engine_loop.h"

#include "engine/device.h"
#include "engine/sample/logits.h"
#include "engine/tokenizer/tokenizer.h"
#include "kernels/step_plan.h"

#include <algorithm>
#include <cassert>

namespace tokenscope {

void EngineLoop::step()
{
    const ScheduledStep scheduled = m_scheduler->plan({m_cost->prefillRows(m_scheduler->decodingRows())});
    for (RequestId request : scheduled.starved)
        finish(m_requests.find(request), StopReason::ContextFull);
    if (scheduled.pieces.empty())
        return;

    const kernels::StepPlan plan = planOf(scheduled);
    const StepCost cost = m_model->stepCost(plan);
    std::vector<RequestId> requests;
    for (const ScheduledPiece& piece : scheduled.pieces)
        requests.push_back(piece.request);
    if (!m_mailbox.beginStep(requests))
        return;

    StepRecord record;
    record.startNs = m_dependencies.clock->now();
    for (RequestId request : requests)
        if (auto& admittedNs = m_requests.at(request).result.trace.admittedNs; !admittedNs)
            admittedNs = record.startNs;
    const auto computed = m_model->device->runStep(plan, &m_mailbox.interrupted());
    record.computedNs = m_dependencies.clock->now();
    m_mailbox.endStep();
    if (!computed) {
        if (computed.error().code == kernels::KernelErrorCode::Cancelled)
            return;  // nothing is committed: whoever is still there is planned again
        const Error error = toError(computed.error());
        for (RequestId request : requests)
            finish(m_requests.find(request), StopReason::Error, error);
        return;
    }

    record.stepId = m_nextStep++;
    record.rows = scheduled.rows;
    record.prefillRows = scheduled.prefillRows;
    record.sequences = static_cast<int>(scheduled.pieces.size());
    record.weightBytes = cost.weightBytes;
    record.kvReadBytes = cost.kvReadBytes;
    record.kvWriteBytes = cost.kvWriteBytes;
    record.macs = cost.macs;
    record.kvBlocksUsed = m_scheduler->pool().usedCount();
    if (scheduled.prefillRows > 0)
        m_cost->observe(record.rows, record.computedNs - record.startNs);
    m_scheduler->commit(scheduled);
    commit(scheduled, *computed, record);
}

kernels::StepPlan EngineLoop::planOf(const ScheduledStep& scheduled)
{
    kernels::StepPlan plan;
    plan.tokens.reserve(static_cast<std::size_t>(scheduled.rows));
    for (const ScheduledPiece& piece : scheduled.pieces) {
        const ActiveRequest& request = m_requests.at(piece.request);
        const std::vector<BlockId>& blocks = m_scheduler->blocksOf(piece.request);
        kernels::SequenceSlice slice;
        slice.firstRow = plan.rows();
        slice.rows = piece.rows;
        slice.kvLength = piece.firstToken;
        slice.blockTableOffset = static_cast<std::int32_t>(plan.blockTable.size());
        slice.blockCount = (piece.firstToken + piece.rows + kernels::kBlockTokens - 1) / kernels::kBlockTokens;
        assert(slice.blockCount <= static_cast<std::int32_t>(blocks.size()));
        plan.blockTable.insert(plan.blockTable.end(), blocks.begin(), blocks.begin() + slice.blockCount);
        const auto first = request.tokens.begin() + piece.firstToken;
        plan.tokens.insert(plan.tokens.end(), first, first + piece.rows);
        for (int row = piece.isScoring ? 0 : piece.rows - 1; row < piece.rows; ++row)
            if (piece.isScoring || piece.isLast)
                plan.logitRows.push_back(slice.firstRow + row);
        plan.sequences.push_back(slice);
    }
    return plan;
}

void EngineLoop::commit(const ScheduledStep& scheduled, const kernels::StepResult& computed, StepRecord record)
{
    const auto vocabulary = static_cast<std::size_t>(m_model->text->tokenizer->vocabularySize());
    std::vector<Event> events;
    events.reserve(2 * scheduled.pieces.size());
    std::vector<std::pair<RequestId, Error>> failed;

    std::size_t logitRow = 0;
    for (const ScheduledPiece& piece : scheduled.pieces) {
        ActiveRequest& request = m_requests.at(piece.request);
        RequestTrace& trace = request.result.trace;
        const std::size_t wanted =
            piece.isScoring ? static_cast<std::size_t>(piece.rows) : static_cast<std::size_t>(piece.isLast);
        const std::span<const float> logits = computed.logits.subspan(logitRow * vocabulary, wanted * vocabulary);
        logitRow += wanted;

        if (piece.isPrefill) {
            trace.chunks.push_back({record.computedNs, piece.rows, record.stepId});
            const int total = trace.promptTokens - (request.isScoring ? 1 : 0);
            events.push_back(
                PrefillProgress{piece.request, piece.firstToken + piece.rows, total, {}, *trace.admittedNs});
        }
        const auto blocks = static_cast<int>(m_scheduler->blocksOf(piece.request).size());
        trace.kvBlocksPeak = std::max(trace.kvBlocksPeak, blocks);
        trace.kvBytesPeak = static_cast<std::uint64_t>(trace.kvBlocksPeak) * m_model->info.blockBytes;

        if (piece.isScoring) {
            if (auto scored = commitScores(request, piece, logits); !scored)
                failed.emplace_back(piece.request, std::move(scored.error()));
        } else if (piece.isLast) {
            if (auto token = commitToken(request, logits, record.stepId))
                events.push_back(std::move(*token));
            else
                failed.emplace_back(piece.request, std::move(token.error()));
        }
    }

    record.endNs = m_dependencies.clock->now();
    const auto recordOf = [&](RequestId request) {
        StepRecord own = record;
        for (const ScheduledPiece& piece : scheduled.pieces)
            if (piece.request == request)
                own.newBlocks = piece.newBlocks;
        return own;
    };
    for (Event& event : events) {
        if (auto* progress = std::get_if<PrefillProgress>(&event))
            progress->step = recordOf(progress->request);
        else if (auto* token = std::get_if<TokenCommitted>(&event))
            token->step = recordOf(token->request);
    }
    for (const ScheduledPiece& piece : scheduled.pieces)
        m_requests.at(piece.request).result.trace.steps.push_back(recordOf(piece.request));
    m_mailbox.push(events);

    for (auto& [request, error] : failed)
        finish(m_requests.find(request), StopReason::Error, std::move(error));
    for (const ScheduledPiece& piece : scheduled.pieces)
        if (const auto it = m_requests.find(piece.request); it != m_requests.end() && it->second.ended)
            finish(it, *it->second.ended);
}

// Row i of the piece holds the logits of the token after position firstToken + i.
Result<void> EngineLoop::commitScores(ActiveRequest& request, const ScheduledPiece& piece,
                                      std::span<const float> logits)
{
    const std::size_t vocabulary = logits.size() / static_cast<std::size_t>(piece.rows);
    for (int row = 0; row < piece.rows; ++row) {
        const auto distribution = logits.subspan(static_cast<std::size_t>(row) * vocabulary, vocabulary);
        const auto largest = largestLogit(distribution);
        if (!largest)
            return tl::unexpected(largest.error());
        TokenScore score;
        score.id = request.tokens[static_cast<std::size_t>(piece.firstToken + row + 1)];
        score.logSumExp = logSumExp(distribution, *largest);
        score.logProbability = static_cast<double>(distribution[static_cast<std::size_t>(score.id)]) - score.logSumExp;
        selectLargest(distribution, request.topLogits, score.top);
        request.result.scores.push_back(std::move(score));
    }
    if (piece.isLast)
        request.ended = StopReason::Length;  // nothing was to be generated
    return {};
}

Result<TokenCommitted> EngineLoop::commitToken(ActiveRequest& request, std::span<const float> logits,
                                               std::uint32_t stepId)
{
    const Tokenizer& tokenizer = *m_model->text->tokenizer;
    const DrawKey key{request.seed, request.answerIndex, static_cast<std::uint32_t>(request.tokens.size())};
    const auto id = m_sampler.sample(logits, request.result.sampling, request.tokens, key);
    if (!id)
        return tl::unexpected(id.error());

    RequestFinished& result = request.result;
    if (request.topLogits > 0)
        selectLargest(logits, request.topLogits, result.topLogits.emplace_back());
    result.outputIds.push_back(*id);
    request.tokens.push_back(*id);

    TokenCommitted event;
    event.request = result.request;
    TokenStamp& stamp = event.stamp;
    stamp.id = *id;
    stamp.stepId = stepId;
    stamp.textBegin = static_cast<std::uint32_t>(request.stream.textBytes());
    bool stopString = false;
    if (result.sampling.ignoreEos || !tokenizer.isEndOfGeneration(*id)) {
        TextStream::Piece piece = request.stream.push(tokenizer.decode(*id));
        event.text = std::move(piece.text);
        stopString = piece.stopped;
    }
    request.ended = reasonToStop(request, stopString);
    if (request.ended && !stopString)
        event.text += request.stream.finish();
    result.text += event.text;
    stamp.textEnd = static_cast<std::uint32_t>(request.ended ? result.text.size() : request.stream.textBytes());
    stamp.textBegin = std::min(stamp.textBegin, stamp.textEnd);
    stamp.committedNs = m_dependencies.clock->now();
    result.trace.tokens.push_back(stamp);
    if (!request.ended)
        m_scheduler->appendToken(result.request);
    return event;
}

std::optional<StopReason> EngineLoop::reasonToStop(const ActiveRequest& request, bool stopString) const
{
    const RequestFinished& result = request.result;
    if (!result.sampling.ignoreEos && m_model->text->tokenizer->isEndOfGeneration(result.outputIds.back()))
        return StopReason::Eos;
    if (stopString)
        return StopReason::StopString;
    if (static_cast<int>(result.outputIds.size()) >= result.sampling.maxTokens)
        return StopReason::Length;
    // The next step would have to put this token into the cache.
    if (static_cast<int>(request.tokens.size()) > m_tokenLimit)
        return StopReason::ContextFull;
    return std::nullopt;
}

}  // namespace tokenscope
