// The engine's one thread: takes commands, loads, plans and runs steps, samples, commits, tells. Everything it owns is
// touched by nobody else.
//
// An allocation that fails while a request is taken ends that request; one that fails in a step ends every running
// request (that frees the most), each with OutOfMemory. The loop goes on.
#pragma once

#include "engine/active_request.h"
#include "engine/engine.h"
#include "engine/loaded_model.h"
#include "engine/mailbox.h"
#include "engine/sample/sampler.h"
#include "engine/schedule/cost_model.h"
#include "engine/schedule/scheduler.h"

#include <map>
#include <memory>
#include <span>
#include <vector>

namespace tokenscope {

class EngineLoop {
public:
    EngineLoop(Mailbox& mailbox, const EngineDependencies& dependencies, std::unique_ptr<ModelLoader> loader);
    ~EngineLoop();

    void run();  // until the mailbox is closed

private:
    using Requests = std::map<RequestId, ActiveRequest>;

    void turn();
    void handle(LoadCommand&& command);
    void handle(UnloadCommand&&);
    void handle(SubmitCommand&& command);
    void handle(CancelCommand&& command);

    Result<void> load(const LoadCommand& command);
    void dropModel();
    Result<void> admit(ActiveRequest& request, RequestSpec&& spec);
    void reserveTrace(ActiveRequest& request, const RequestSpec& spec);

    // engine_step.cpp
    void step();
    kernels::StepPlan planOf(const ScheduledStep& scheduled);
    void commit(const ScheduledStep& scheduled, const kernels::StepResult& computed, StepRecord record);
    Result<void> commitScores(ActiveRequest& request, const ScheduledPiece& piece, std::span<const float> logits);
    Result<TokenCommitted> commitToken(ActiveRequest& request, std::span<const float> logits, std::uint32_t stepId);
    std::optional<StopReason> reasonToStop(const ActiveRequest& request, bool stopString) const;

    void finish(Requests::iterator request, StopReason reason, std::optional<Error> error = std::nullopt) noexcept;
    void finishAll(StopReason reason);
    void endRunning(const Error& error);

    Mailbox& m_mailbox;
    EngineDependencies m_dependencies;
    std::unique_ptr<ModelLoader> m_loader;

    std::unique_ptr<LoadedModel> m_model;  // these three together, or none
    std::unique_ptr<Scheduler> m_scheduler;
    std::unique_ptr<CostModel> m_cost;
    int m_tokenLimit = 0;  // that one sequence may hold: context, or the pool if that is smaller

    Requests m_requests;
    Sampler m_sampler;
    std::uint32_t m_nextStep = 0;
    bool m_memoryRanOut = false;  // in a step: its requests are still to be ended
};

}  // namespace tokenscope
