// Every setting of this build in one list, from the table that the command line uses: value, range, default, unit, and
// a sentence on what it changes. A value out of range is refused on the spot with the range.
#pragma once

#include "engine/types/settings.h"

#include <QDialog>

#include <vector>

class QLineEdit;

namespace tokenscope::ui {

class ChoiceButton;
class SettingRow;

class SettingsDialog : public QDialog {
    Q_OBJECT

public:
    explicit SettingsDialog(const Settings& settings, QWidget* parent = nullptr);

    const Settings& settings() const { return m_settings; }
    // For tests: as if the user had typed it; "" or the refusal's sentence.
    QString enter(const QString& key, const QString& value);

signals:
    void settingsChanged();

private:
    void resetAll();

    Settings m_settings;
    std::vector<SettingRow*> m_rows;
};

}  // namespace tokenscope::ui
