// The first start: what this is, the way to the starter model, a place to drop a file, and what lies on this machine.
#pragma once

#include "app/services/model_library.h"
#include "ui/models/app_settings.h"
#include "ui/models/model_fetcher.h"
#include "ui/models/preferences.h"

#include <QScrollArea>

#include <filesystem>
#include <vector>

class QVBoxLayout;

namespace tokenscope::ui {

class Card;
class NoticeBar;
class PillButton;
class ProgressLine;
class TextLabel;

struct FoundModel {
    LibraryEntry entry;
    std::optional<MemoryBudget> budget;  // of one that can be run
    QString whyNot;                      // it does not fit, as the budget says it
};

class FirstPage : public QScrollArea {
    Q_OBJECT

public:
    // `modelsFolder` is where the starter model goes; it and the folders of the preferences are searched. `fetchScript`
    // as in ModelFetcher.
    FirstPage(std::filesystem::path modelsFolder, AppSettings& settings, Preferences& preferences,
              QWidget* parent = nullptr, const QString& fetchScript = {});

    void rescan();
    void setFound(std::vector<FoundModel> found);
    void setDropHighlighted(bool highlighted);
    NoticeBar& notice() { return *m_notice; }
    ModelFetcher& fetcher() { return m_fetcher; }

signals:
    void loadRequested(const QString& path);
    void openRequested();

private:
    QWidget* makeAbout();
    Card* makeStarter();
    Card* makeDrop();
    Card* makeFound();
    void showFetch();
    void addFolder();
    QString starterPath() const;

    std::filesystem::path m_modelsFolder;
    AppSettings& m_settings;
    Preferences& m_preferences;
    ModelFetcher m_fetcher;
    Card* m_dropCard = nullptr;
    Card* m_foundCard = nullptr;
    QVBoxLayout* m_foundRows = nullptr;
    PillButton* m_get = nullptr;
    PillButton* m_cancel = nullptr;
    NoticeBar* m_notice = nullptr;
    TextLabel* m_getHint = nullptr;
    ProgressLine* m_progress = nullptr;
    QWidget* m_progressRow = nullptr;
    TextLabel* m_progressText = nullptr;
    int m_scan = 0;  // the last one asked for wins
};

}  // namespace tokenscope::ui
