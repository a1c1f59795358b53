#include "ui/models/model_controller.h"

#include "ui/widgets/format.h"

#include "app/services/model_library.h"
#include "ui/models/background.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>

namespace tokenscope::ui {
namespace {

QString markerPath(const std::filesystem::path& folder)
{
    return folder.empty() ? QString() : QString::fromStdString((folder / "loading").string());
}

}  // namespace

ModelController::ModelController(EngineBridge& bridge, AppSettings& settings, Preferences& preferences,
                                 std::filesystem::path markerFolder, QObject* parent)
    : QObject(parent), m_bridge(bridge), m_settings(settings), m_preferences(preferences),
      m_markerFolder(std::move(markerFolder))
{
    QFile marker(markerPath(m_markerFolder));
    if (!m_markerFolder.empty() && marker.open(QIODevice::ReadOnly))
        m_unfinished = QString::fromUtf8(marker.readAll());
    connect(&bridge, &EngineBridge::events, this, &ModelController::take);
}

ModelController::~ModelController()
{
    if (m_loading)
        clearMarker();  // quitting while it loads is no crash
}

void ModelController::setMarker(const QString& path)
{
    if (m_markerFolder.empty())
        return;
    QFile marker(markerPath(m_markerFolder));
    if (marker.open(QIODevice::WriteOnly))
        marker.write(path.toUtf8());
}

void ModelController::clearMarker()
{
    if (!m_markerFolder.empty())
        QFile::remove(markerPath(m_markerFolder));
}

void ModelController::load(const QString& path)
{
    m_path = QFileInfo(path).absoluteFilePath();
    m_loading = true;
    m_fraction = 0.0;
    m_budget.reset();
    setMarker(m_path);
    const std::filesystem::path file = m_path.toStdString();
    const EngineSettings settings = m_settings.settings().engine;
    m_bridge.load(file, settings);
    runInBackground(
        this, [file, settings] { return budgetForFile(file, settings); },
        [this, asked = m_path](Result<MemoryBudget> budget) {
            if (!budget || asked != m_path || !m_loading)
                return;  // the engine says what is wrong; a newer load has its own
            m_budget = *budget;
            emit changed();
        });
    emit changed();
}

void ModelController::reload()
{
    if (m_loaded)
        load(QString::fromStdString(m_loaded->model.path));
}

void ModelController::cancel()
{
    if (m_loading)
        m_bridge.cancelLoad();
}

void ModelController::unload()
{
    m_preferences.setValue(QStringLiteral("models/last"), QString());
    m_bridge.unload();
}

QString ModelController::displayName() const
{
    if (m_loaded && !m_loading)
        return modelTitle(QString::fromStdString(m_loaded->model.path),
                          QString::fromStdString(m_loaded->model.mainType));
    return QFileInfo(m_path).completeBaseName();
}

void ModelController::take(const std::vector<Event>& batch)
{
    bool anything = false;
    for (const Event& event : batch) {
        if (const auto* progress = std::get_if<ModelLoading>(&event)) {
            m_fraction = progress->fraction;
            anything = true;
        } else if (const auto* done = std::get_if<ModelLoaded>(&event)) {
            m_loading = false;
            m_loaded = done->info;
            m_budget = done->info.budget;
            m_path = QString::fromStdString(done->info.model.path);
            clearMarker();
            m_preferences.addRecentModel(m_path);
            m_preferences.setValue(QStringLiteral("models/last"), m_path);
            anything = true;
            emit modelChanged();
            emit loadEnded(true);
        } else if (const auto* failure = std::get_if<ModelLoadFailed>(&event)) {
            // Of two loads in a row the first ends as cancelled; the second is still under way.
            if (!m_path.isEmpty() && m_loading &&
                QFileInfo(QString::fromStdString(failure->path)).absoluteFilePath() != m_path)
                continue;
            m_loading = false;
            clearMarker();
            const bool gone = m_loaded && !m_bridge.modelIsLoaded();
            if (gone)
                m_loaded.reset();
            m_path = m_loaded ? QString::fromStdString(m_loaded->model.path) : QString();
            m_budget = m_loaded ? std::optional(m_loaded->budget) : std::nullopt;
            anything = true;
            if (gone)
                emit modelChanged();
            if (failure->error.code != ErrorCode::Cancelled)
                emit failed(QString::fromStdString(failure->error.message));
            emit loadEnded(false);
        } else if (std::holds_alternative<ModelUnloaded>(event)) {
            m_loaded.reset();
            if (!m_loading) {
                m_path.clear();
                m_budget.reset();
            }
            anything = true;
            emit modelChanged();
        }
    }
    if (anything)
        emit changed();
}

}  // namespace tokenscope::ui
