// The controls under the conversation: the settings of this build that people change most, each with what it costs, and
// the way to all others. Settings of the engine take effect with a reload, which the bar offers by name.
#pragma once

#include "engine/types/model_info.h"
#include "engine/types/settings.h"
#include "ui/widgets/card.h"

#include <QString>

#include <functional>
#include <optional>
#include <vector>

class QHBoxLayout;

namespace tokenscope::ui {

class ChoiceButton;
class PillButton;
class TextLabel;

class ControlBar : public Bar {
    Q_OBJECT

public:
    // isas: the instruction sets this processor has, slowest first; cores: physical.
    ControlBar(const QStringList& isas, int cores, QWidget* parent = nullptr);

    void setSettings(const Settings& settings);
    const Settings& settings() const { return m_settings; }
    // The model that is loaded, with the settings it was loaded with; nullopt while there is none.
    void setModel(const std::optional<LoadedModelInfo>& model, const EngineSettings& loadedWith);
    bool reloadPending() const;

signals:
    void settingsChanged();  // by the user; settings() has them
    void reloadRequested();
    void allSettingsRequested();

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    struct Field {
        std::string key;
        QWidget* box;
        ChoiceButton* choice;
        TextLabel* hint;
        std::function<QString()> hintText;
    };
    void addField(const char* key, std::function<QString()> hintText);
    void chosen(const std::string& key, const QString& value);
    void updateFields();
    std::vector<struct Choice> choicesOf(const std::string& key) const;
    QString kvHint() const;
    QString contextHint() const;
    QString samplingHint() const;

    QStringList m_isas;
    int m_cores;
    Settings m_settings;
    std::optional<LoadedModelInfo> m_model;
    EngineSettings m_loadedWith;
    QHBoxLayout* m_row;
    std::vector<Field> m_fields;
    PillButton* m_reload;
    PillButton* m_all;
};

// Whether engine settings differ in anything that a reload would change.
bool sameEngineSettings(const EngineSettings& a, const EngineSettings& b);

}  // namespace tokenscope::ui
