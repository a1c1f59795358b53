// The model in the window: asks the engine to load, knows how far it is, what it will take, and remembers a load that
// did not end (a crash while loading must not happen again by itself at the next start).
#pragma once

#include "app/bridge/engine_bridge.h"
#include "engine/types/model_info.h"
#include "ui/models/app_settings.h"
#include "ui/models/preferences.h"

#include <QObject>
#include <QString>

#include <filesystem>
#include <optional>

namespace tokenscope::ui {

class ModelController : public QObject {
    Q_OBJECT

public:
    // `markerFolder` holds the file that says a load is under way; empty: none is kept.
    ModelController(EngineBridge& bridge, AppSettings& settings, Preferences& preferences,
                    std::filesystem::path markerFolder, QObject* parent = nullptr);
    ~ModelController() override;

    void load(const QString& path);
    void reload();  // the loaded model again, with the settings in force now
    void cancel();
    void unload();

    bool loading() const { return m_loading; }
    double fraction() const { return m_fraction; }
    QString path() const { return m_path; }  // being loaded, or loaded
    QString displayName() const;             // of the loaded model, else of the file being loaded
    const std::optional<LoadedModelInfo>& loaded() const { return m_loaded; }
    // What the load takes: from the file's header while it loads, from the engine afterwards.
    const std::optional<MemoryBudget>& budget() const { return m_budget; }

    // The file whose load did not end the last time the program ran; empty: none.
    QString unfinishedLoad() const { return m_unfinished; }

signals:
    void changed();
    void loadEnded(bool success);
    void failed(const QString& sentence);
    void modelChanged();  // loaded() is another one now, or none

private:
    void take(const std::vector<Event>& batch);
    void setMarker(const QString& path);
    void clearMarker();

    EngineBridge& m_bridge;
    AppSettings& m_settings;
    Preferences& m_preferences;
    std::filesystem::path m_markerFolder;
    bool m_loading = false;
    double m_fraction = 0.0;
    QString m_path;
    QString m_unfinished;
    std::optional<LoadedModelInfo> m_loaded;
    std::optional<MemoryBudget> m_budget;
};

}  // namespace tokenscope::ui
