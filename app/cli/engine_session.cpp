#include "app/cli/engine_session.h"

#include "app/services/machine_service.h"
#include "app/services/model_hash.h"
#include "app/services/paths.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace tokenscope::cli {
namespace {

constexpr std::chrono::milliseconds kWait{50};  // how late an interrupt may be noticed

}  // namespace

EngineSession::EngineSession(const CommonOptions& options) : m_options(options), m_engine(makeEngine()) {}

EngineSession::~EngineSession() = default;

Result<void> EngineSession::load(const EngineSettings& settings)
{
    m_settings = settings;
    Progress progress(m_options.quiet);
    m_engine->load(m_options.model, settings);
    bool isCancelled = false;
    for (;;) {
        m_engine->waitForEvents(kWait);
        for (Event& event : m_engine->takeEvents()) {
            if (const auto* loading = std::get_if<ModelLoading>(&event)) {
                progress.show(fmt::format("Loading model {:.0f} %", loading->fraction * 100));
            } else if (auto* loaded = std::get_if<ModelLoaded>(&event)) {
                m_model = std::move(loaded->info);
                progress.clear();
                if (!m_options.quiet) {
                    for (const std::string& warning : m_model.warnings)
                        writeError("note: " + warning);
                }
                return {};
            } else if (auto* failed = std::get_if<ModelLoadFailed>(&event)) {
                return tl::unexpected(std::move(failed->error));
            }
        }
        if (interrupted() && !std::exchange(isCancelled, true))
            m_engine->cancelLoad();
    }
}

std::vector<RequestFinished> EngineSession::answer(std::vector<RequestSpec> requests,
                                                   const std::function<bool(const TokenCommitted&)>& onToken)
{
    std::map<RequestId, std::size_t> places;
    for (std::size_t i = 0; i < requests.size(); ++i)
        places[m_engine->submit(std::move(requests[i]))] = i;

    Progress progress(m_options.quiet);
    std::vector<RequestFinished> answers(places.size());
    std::size_t open = places.size();
    bool isCancelled = false;
    bool giveUp = false;
    while (open > 0) {
        m_engine->waitForEvents(kWait);
        for (Event& event : m_engine->takeEvents()) {
            if (const auto* prefill = std::get_if<PrefillProgress>(&event)) {
                if (places.size() == 1)
                    progress.show(fmt::format("Reading prompt {} of {} tokens", prefill->done, prefill->total));
            } else if (const auto* tokenised = std::get_if<RequestTokenised>(&event)) {
                if (!m_options.quiet) {
                    for (const std::string& warning : tokenised->warnings)
                        writeError("note: " + warning);
                }
            } else if (const auto* token = std::get_if<TokenCommitted>(&event)) {
                progress.clear();
                if (onToken && !giveUp)
                    giveUp = !onToken(*token);
            } else if (auto* finished = std::get_if<RequestFinished>(&event)) {
                answers[places.at(finished->request)] = std::move(*finished);
                --open;
            }
        }
        if ((interrupted() || giveUp) && !std::exchange(isCancelled, true)) {
            for (const auto& [request, place] : places)
                m_engine->cancel(request);
        }
    }
    return answers;
}

std::optional<MeasuredCeilings> EngineSession::ceilings()
{
    const auto device = resolveDevice(m_settings);
    if (!device)
        return std::nullopt;
    if (auto stored = storedCeilings(cacheDirectory(), *device))
        return stored;
    if (interrupted())
        return std::nullopt;
    Progress progress(m_options.quiet);
    progress.show("Measuring this machine's ceilings (once)");
    auto measured = measureAndStoreCeilings(cacheDirectory(), *device);
    progress.clear();
    if (!measured) {
        writeError("note: " + measured.error().message);
        return std::nullopt;
    }
    const double load = loadWhileMeasured(cacheDirectory(), *device);
    if (load > kQuietLoad && !m_options.quiet)
        writeError(fmt::format("note: other programs used {:.0f} % of the processors while the ceilings were measured; "
                               "they may be too low (system --remeasure)",
                               load * 100));
    return *measured;
}

void EngineSession::addHash()
{
    Progress progress(m_options.quiet);
    progress.show("Computing the model's SHA-256 (once)");
    auto hash = modelHash(cacheDirectory(), m_options.model, interruptFlag());
    progress.clear();
    if (hash)
        m_model.model.sha256 = std::move(*hash);
    else if (!interrupted())
        writeError("note: " + hash.error().message);
}

RunId saveRun(const CommonOptions& options, RunRow row)
{
    if (!options.save)
        return 0;
    const auto storage = Storage::open(options.dataDirectory);
    if (!storage->notice().empty())
        writeError(storage->notice());
    const auto id = storage->saveRun(std::move(row)).get();
    if (!id) {
        writeError("the run is not saved: " + id.error().message);
        return 0;
    }
    return *id;
}

Result<std::unique_ptr<Storage>> openStorage(const CommonOptions& options)
{
    auto storage = Storage::open(options.dataDirectory);
    if (storage->state() != Storage::State::Ready) {
        // Not a mistake of the user's: `runs` failed.
        const ErrorCode code =
            storage->state() == Storage::State::NewerDatabase ? ErrorCode::NewerDatabase : ErrorCode::DamagedDatabase;
        return tl::unexpected(Error{code, storage->error().message, storage->error().args});
    }
    if (!storage->notice().empty())
        writeError(storage->notice());
    return storage;
}

}  // namespace tokenscope::cli
