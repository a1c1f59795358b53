#include "engine/engine_loop.h"

#include "engine/base/log.h"
#include "engine/request_intake.h"
#include "kernels/step_plan.h"

#include <algorithm>
#include <cassert>
#include <exception>
#include <limits>
#include <new>

#include <fmt/format.h>

namespace tokenscope {
namespace {

constexpr int kMostTopLogits = 1000;
constexpr int kLeastChunk = 8;  // what the trace's arrays are reserved for; smaller pieces only cost a reallocation

// Must not allocate where memory has just run out: short enough for std::string's own room.
Error outOfMemory() noexcept
{
    return {ErrorCode::OutOfMemory, "out of memory"};
}

Result<void> checkSpec(const RequestSpec& spec)
{
    if (auto checked = checkSampling(spec.sampling); !checked)
        return checked;
    const auto* score = std::get_if<ScorePrompt>(&spec.prompt);
    const int topLogits = score ? score->topLogits : spec.topLogits;
    if (topLogits < 0 || topLogits > kMostTopLogits)
        return fail(ErrorCode::BadInput, "{} top logits were asked for: expected 0 to {}", topLogits, kMostTopLogits);
    if (spec.answerIndex < 0)
        return fail(ErrorCode::BadInput, "the answer's index is {}: expected 0 or more", spec.answerIndex);
    return {};
}

}  // namespace

EngineLoop::EngineLoop(Mailbox& mailbox, const EngineDependencies& dependencies, std::unique_ptr<ModelLoader> loader)
    : m_mailbox(mailbox), m_dependencies(dependencies), m_loader(std::move(loader))
{
}

EngineLoop::~EngineLoop() = default;

void EngineLoop::run()
{
    while (!m_mailbox.isClosed()) {
        try {
            turn();
        } catch (const std::bad_alloc&) {
            m_memoryRanOut = true;
        } catch (const std::exception& exception) {
            logError(exception.what());
            endRunning({ErrorCode::Internal, exception.what()});
        }
    }
}

void EngineLoop::turn()
{
    if (m_memoryRanOut) {
        endRunning(outOfMemory());
        m_memoryRanOut = false;
    }
    const bool isIdle = !m_scheduler || m_scheduler->isIdle();
    if (auto command = m_mailbox.takeCommand(isIdle))
        std::visit([this](auto&& taken) { handle(std::forward<decltype(taken)>(taken)); }, std::move(*command));
    else if (!isIdle)
        step();
}

void EngineLoop::handle(LoadCommand&& command)
{
    const auto ended = [&](Error error) {
        m_mailbox.loadEnded(command.cancelled);
        m_mailbox.push(ModelLoadFailed{command.path.string(), std::move(error)});
    };
    try {
        if (auto loaded = load(command); !loaded)
            ended(std::move(loaded.error()));
        else
            m_mailbox.loadEnded(command.cancelled);
    } catch (const std::bad_alloc&) {
        dropModel();
        ended(outOfMemory());
    }
}

Result<void> EngineLoop::load(const LoadCommand& command)
{
    const auto cancelled = [&] { return fail(ErrorCode::Cancelled, "loading was cancelled"); };
    if (*command.cancelled)
        return cancelled();
    auto prepared = m_loader->prepare(command.path, command.settings);
    if (!prepared)
        return tl::unexpected(std::move(prepared.error()));
    if (*command.cancelled)
        return cancelled();

    dropModel();
    double told = 0.0;
    m_mailbox.push(ModelLoading{0.0});
    const auto tell = [&](double fraction) {
        if (fraction < told + 0.01)
            return;
        told = fraction;
        m_mailbox.push(ModelLoading{std::min(fraction, 1.0)});
    };
    auto loaded = (*prepared)->load({*command.cancelled, tell});
    prepared->reset();
    if (!loaded)
        return tl::unexpected(std::move(loaded.error()));
    if (*command.cancelled)
        return cancelled();

    LoadedModelInfo& info = (*loaded)->info;
    info.loadMs = static_cast<double>(m_dependencies.clock->now() - command.issuedNs) / 1e6;
    auto scheduler = std::make_unique<Scheduler>(ScheduleLimits{(*loaded)->settings.batch, info.blockCount});
    auto cost = std::make_unique<CostModel>((*loaded)->settings.prefillChunk);
    ModelLoaded event{info};

    m_tokenLimit = std::min(info.context, scheduler->maxTokens());
    m_model = std::move(*loaded);
    m_scheduler = std::move(scheduler);
    m_cost = std::move(cost);
    m_mailbox.setModelText(m_model->text);
    m_mailbox.push(std::move(event));
    return {};
}

void EngineLoop::handle(UnloadCommand&&)
{
    if (m_model)
        dropModel();
    else
        m_mailbox.push(ModelUnloaded{});
}

void EngineLoop::dropModel()
{
    finishAll(StopReason::Cancelled);
    if (!m_model)
        return;
    m_mailbox.setModelText(nullptr);
    m_scheduler.reset();
    m_cost.reset();
    m_model.reset();
    m_mailbox.push(ModelUnloaded{});
}

void EngineLoop::handle(SubmitCommand&& command)
{
    RequestFinished ended;  // told if there is not even the memory to keep the request
    ended.request = command.request;
    ended.trace.scheduledNs = command.spec.scheduledNs;
    ended.trace.submittedNs = command.submittedNs;
    Requests::iterator it = m_requests.end();
    try {
        it = m_requests.try_emplace(command.request, command.spec.sampling.stop).first;
        ActiveRequest& request = it->second;
        request.result.request = ended.request;
        request.result.trace = ended.trace;
        request.result.sampling = std::move(command.spec.sampling);
        command.spec.sampling = request.result.sampling;
        if (auto admitted = admit(request, std::move(command.spec)); !admitted)
            finish(it, StopReason::Error, std::move(admitted.error()));
    } catch (const std::bad_alloc&) {
        if (it != m_requests.end()) {
            finish(it, StopReason::Error, outOfMemory());
            return;
        }
        ended.error = outOfMemory();
        ended.trace.stoppedNs = ended.trace.teardownNs = m_dependencies.clock->now();
        m_mailbox.pushFinished(std::move(ended));
    }
}

Result<void> EngineLoop::admit(ActiveRequest& request, RequestSpec&& spec)
{
    if (!m_model)
        return fail(ErrorCode::Busy, "no model is loaded: load one first");
    if (auto checked = checkSpec(spec); !checked)
        return checked;
    auto prompt = preparePrompt(spec, *m_model->text);
    if (!prompt)
        return tl::unexpected(std::move(prompt.error()));

    RequestTrace& trace = request.result.trace;
    trace.tokenisedNs = m_dependencies.clock->now();
    trace.promptTokens = static_cast<int>(prompt->ids.size());
    trace.droppedBytes = prompt->droppedBytes;
    request.result.promptIds = prompt->ids;
    request.tokens = std::move(prompt->ids);
    request.isScoring = std::holds_alternative<ScorePrompt>(spec.prompt);
    request.topLogits = request.isScoring ? std::get<ScorePrompt>(spec.prompt).topLogits : spec.topLogits;
    request.answerIndex = static_cast<std::uint32_t>(spec.answerIndex);
    request.seed = spec.sampling.seed ? *spec.sampling.seed : m_dependencies.drawSeed();
    request.result.sampling.seed = request.seed;
    m_mailbox.push(RequestTokenised{request.result.request, trace.promptTokens, trace.droppedBytes,
                                    std::move(prompt->warnings), trace.submittedNs, *trace.tokenisedNs});

    // The last scored id needs no row of its own.
    const int rows = trace.promptTokens - (request.isScoring ? 1 : 0);
    if (rows > m_tokenLimit)
        return fail(ErrorCode::ContextFull,
                    "the prompt has {} tokens and the context holds {}: shorten the prompt by {} or load "
                    "the model with a larger context",
                    rows, m_tokenLimit, rows - m_tokenLimit);
    reserveTrace(request, spec);
    m_scheduler->add(request.result.request, rows, request.isScoring);
    request.isScheduled = true;
    return {};
}

// All that a step appends to, so that no timestamp is lost and no step waits for an allocation.
void EngineLoop::reserveTrace(ActiveRequest& request, const RequestSpec& spec)
{
    const int prompt = request.result.trace.promptTokens;
    const int outputs = request.isScoring ? 0 : std::min(spec.sampling.maxTokens, m_tokenLimit - prompt + 1);
    const int setting = m_model->settings.prefillChunk;
    const int chunk = request.isScoring ? std::min(setting > 0 ? setting : kLeastChunk, RowBudget{}.scoreRows)
                      : setting > 0     ? setting
                                        : kLeastChunk;
    const auto chunks = static_cast<std::size_t>(prompt / chunk + 2);
    const auto tokens = static_cast<std::size_t>(outputs);
    request.result.trace.chunks.reserve(chunks);
    request.result.trace.steps.reserve(chunks + tokens);
    request.result.trace.tokens.reserve(tokens);
    request.result.outputIds.reserve(tokens);
    request.tokens.reserve(request.tokens.size() + tokens);
    if (request.isScoring)
        request.result.scores.reserve(static_cast<std::size_t>(prompt));
    else if (request.topLogits > 0)
        request.result.topLogits.reserve(tokens);
}

void EngineLoop::handle(CancelCommand&& command)
{
    if (const auto it = m_requests.find(command.request); it != m_requests.end())
        finish(it, StopReason::Cancelled);
}

// Allocates nothing that must succeed, so that a request also ends when memory has run out.
void EngineLoop::finish(Requests::iterator it, StopReason reason, std::optional<Error> error) noexcept
{
    ActiveRequest& request = it->second;
    RequestTrace& trace = request.result.trace;
    // A request whose last token decided it has stopped then, not when it is taken apart.
    trace.stoppedNs =
        request.ended && !trace.tokens.empty() ? trace.tokens.back().committedNs : m_dependencies.clock->now();
    if (request.isScheduled)
        m_scheduler->remove(request.result.request);
    try {
        if (reason != StopReason::StopString)
            request.result.text += request.stream.finish();
    } catch (const std::bad_alloc&) {
        logWarn("out of memory: the held-back end of an answer is lost");
    }
    const auto textBytes = static_cast<std::uint32_t>(request.result.text.size());
    for (TokenStamp& stamp : trace.tokens) {  // a stop string may have begun in an earlier token
        stamp.textEnd = std::min(stamp.textEnd, textBytes);
        stamp.textBegin = std::min(stamp.textBegin, stamp.textEnd);
    }
    trace.reason = reason;
    request.result.error = std::move(error);
    trace.teardownNs = m_dependencies.clock->now();
    m_mailbox.pushFinished(std::move(request.result));
    m_requests.erase(it);
}

void EngineLoop::finishAll(StopReason reason)
{
    while (!m_requests.empty())
        finish(m_requests.begin(), reason);
}

void EngineLoop::endRunning(const Error& error)
{
    for (auto it = m_requests.begin(); it != m_requests.end();) {
        const auto next = std::next(it);
        if (it->second.result.trace.admittedNs || !it->second.isScheduled)
            finish(it, StopReason::Error, error);
        it = next;
    }
}

}  // namespace tokenscope
