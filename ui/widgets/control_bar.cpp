#include "ui/widgets/control_bar.h"

#include "ui/widgets/choice_button.h"
#include "ui/widgets/format.h"
#include "ui/widgets/painting.h"
#include "ui/widgets/pill_button.h"
#include "ui/widgets/text_label.h"

#include <QHBoxLayout>
#include <QLocale>
#include <QResizeEvent>
#include <QVBoxLayout>

#include <algorithm>

namespace tokenscope::ui {
namespace {

constexpr const char* kSampling = "sampling";  // stands for a set of settings

struct SamplingPreset {
    const char* value;
    double temperature, topP, minP;
    int topK;
};
// "Balanced" is the default of the command line.
constexpr SamplingPreset kPresets[] = {
    {"greedy", 0.0, 1.0, 0.0, 0}, {"balanced", 0.8, 0.95, 0.05, 40}, {"lively", 1.2, 1.0, 0.05, 0}};

QString samplingValue(const SamplingSettings& sampling)
{
    if (sampling.temperature == 0.0)
        return QStringLiteral("greedy");
    for (const SamplingPreset& preset : kPresets)
        if (sampling.temperature == preset.temperature && sampling.topP == preset.topP &&
            sampling.minP == preset.minP && sampling.topK == preset.topK)
            return QLatin1String(preset.value);
    return ControlBar::tr("temp %1 · p %2").arg(sampling.temperature).arg(sampling.topP);
}

const SettingInfo* infoOf(std::string_view key)
{
    for (const SettingInfo& info : settingTable())
        if (info.key == key)
            return &info;
    return nullptr;
}

QString text(std::string_view view)
{
    return QString::fromUtf8(view.data(), static_cast<qsizetype>(view.size()));
}

}  // namespace

bool sameEngineSettings(const EngineSettings& a, const EngineSettings& b)
{
    const Settings left{.engine = a}, right{.engine = b};
    return std::all_of(settingTable().begin(), settingTable().end(), [&](const SettingInfo& info) {
        return !info.needsReload || settingValue(left, info.key) == settingValue(right, info.key);
    });
}

ControlBar::ControlBar(const QStringList& isas, int cores, QWidget* parent)
    : Bar(Qt::TopEdge, parent), m_isas(isas), m_cores(cores), m_row(new QHBoxLayout(this)),
      m_reload(new PillButton(PillButton::Kind::Primary, tr("Reload to apply"), this)),
      m_all(new PillButton(PillButton::Kind::Secondary, tr("All settings…"), this))
{
    m_row->setContentsMargins(kSpace4, kSpace2, kSpace4, kSpace2);
    m_row->setSpacing(kSpace4);
    addField(kSampling, [this] { return samplingHint(); });
    addField("context", [this] { return contextHint(); });
    addField("kv", [this] { return kvHint(); });
    addField("threads", [this] { return m_cores == 1 ? tr("1 physical core") : tr("%1 physical cores").arg(m_cores); });
    addField("isa", [this] { return m_isas.isEmpty() ? QString() : tr("auto takes %1").arg(m_isas.back()); });
    addField("prefill_chunk", [this] {
        return m_settings.engine.prefillChunk == 0 ? tr("by measured cost") : tr("prompt tokens a step");
    });
    m_row->addStretch(1);
    m_row->addWidget(m_reload, 0, Qt::AlignVCenter);
    m_row->addWidget(m_all, 0, Qt::AlignVCenter);
    m_reload->setToolTip(tr("Some of the settings take effect when the model is loaded again"));
    connect(m_reload, &QAbstractButton::clicked, this, &ControlBar::reloadRequested);
    connect(m_all, &QAbstractButton::clicked, this, &ControlBar::allSettingsRequested);
    updateFields();
}

void ControlBar::addField(const char* key, std::function<QString()> hintText)
{
    const SettingInfo* info = infoOf(key);
    const QString label = info ? text(info->label) : tr("Sampling");
    auto* box = new QWidget(this);
    auto* column = new QVBoxLayout(box);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(3);
    auto* name = new TextLabel(label, FontRole::Small, &Palette::dim, box);
    auto* choice = new ChoiceButton(label, box);
    auto* hint = new TextLabel({}, FontRole::Axis, &Palette::faint, box);
    hint->setElided(true);
    column->addWidget(name);
    column->addWidget(choice);
    column->addWidget(hint);
    const QString help = info ? text(info->affects)
                              : tr("How the next token is drawn: greedy always takes the likeliest, the "
                                   "others draw by chance. All values stand under All settings.");
    const QString reload = info && info->needsReload ? tr("\nTakes effect when the model is loaded again.") : QString();
    choice->setToolTip(help + reload);
    name->setToolTip(help + reload);
    const std::string owned = key;
    connect(choice, &ChoiceButton::chosen, this, [this, owned](const QString& value) { chosen(owned, value); });
    m_row->addWidget(box, 1);
    m_fields.push_back({owned, box, choice, hint, std::move(hintText)});
}

std::vector<Choice> ControlBar::choicesOf(const std::string& key) const
{
    std::vector<Choice> choices;
    if (key == kSampling) {
        choices = {{QStringLiteral("greedy"), tr("greedy"),
                    tr("Always the likeliest token: the same answer every time"), false},
                   {QStringLiteral("balanced"), tr("balanced · 0.8"),
                    tr("Temperature 0.8, top-k 40, top-p 0.95, min-p 0.05"), false},
                   {QStringLiteral("lively"), tr("lively · 1.2"), tr("Temperature 1.2, min-p 0.05"), false},
                   {QStringLiteral("…"), tr("More…"), tr("Every value of its own"), true}};
    } else if (key == "context") {
        choices.push_back({QStringLiteral("auto"), tr("auto"),
                           tr("The smallest of what the model was trained for, 4,096, and what fits"), false});
        const int trained = m_model ? m_model->model.trainedContext : 32'768;
        for (int tokens : {512, 1024, 2048, 4096, 8192, 16'384, 32'768})
            if (tokens <= trained)
                choices.push_back({QString::number(tokens), tr("%1 tokens").arg(countText(tokens)), {}, tokens == 512});
    } else if (key == "kv") {
        choices = {{QStringLiteral("f16"), tr("f16 · paged"), {}, false},
                   {QStringLiteral("f32"), tr("f32 · paged"), {}, false}};
    } else if (key == "threads") {
        choices.push_back({QStringLiteral("auto"), tr("auto"), tr("As many as there are physical cores"), false});
        for (int threads = 1; threads <= m_cores; threads = threads < 8 ? threads + 1 : threads + 4)
            choices.push_back({QString::number(threads), QString::number(threads), {}, threads == 1});
    } else if (key == "isa") {
        choices.push_back({QStringLiteral("auto"), tr("auto"), tr("The fastest this processor has"), false});
        for (const QString& isa : m_isas)
            choices.push_back({isa, isa, {}, isa == m_isas.front()});
    } else if (key == "prefill_chunk") {
        choices.push_back({QStringLiteral("auto"), tr("auto"), tr("From the measured cost of a step"), false});
        for (int rows : {16, 32, 64, 128, 256, 512})
            choices.push_back({QString::number(rows), tr("%1 tokens").arg(rows), {}, rows == 16});
        choices.push_back({QStringLiteral("whole"), tr("whole prompt"), {}, true});
    }
    return choices;
}

void ControlBar::setSettings(const Settings& settings)
{
    m_settings = settings;
    updateFields();
}

void ControlBar::setModel(const std::optional<LoadedModelInfo>& model, const EngineSettings& loadedWith)
{
    m_model = model;
    m_loadedWith = loadedWith;
    updateFields();
}

bool ControlBar::reloadPending() const
{
    return m_model && !sameEngineSettings(m_settings.engine, m_loadedWith);
}

void ControlBar::chosen(const std::string& key, const QString& value)
{
    if (key == kSampling) {
        const auto* preset = std::find_if(std::begin(kPresets), std::end(kPresets),
                                          [&](const SamplingPreset& p) { return value == QLatin1String(p.value); });
        if (preset == std::end(kPresets)) {
            updateFields();
            emit allSettingsRequested();
            return;
        }
        m_settings.sampling.temperature = preset->temperature;
        m_settings.sampling.topP = preset->topP;
        m_settings.sampling.minP = preset->minP;
        m_settings.sampling.topK = preset->topK;
    } else if (!setSetting(m_settings, key, value.toStdString())) {
        updateFields();
        return;
    }
    updateFields();
    emit settingsChanged();
}

void ControlBar::updateFields()
{
    for (const Field& field : m_fields) {
        field.choice->setChoices(choicesOf(field.key));
        field.choice->setValue(field.key == kSampling ? samplingValue(m_settings.sampling)
                                                      : QString::fromStdString(settingValue(m_settings, field.key)));
        field.hint->setText(field.hintText());
    }
    m_reload->setVisible(reloadPending());
}

QString ControlBar::kvHint() const
{
    if (!m_model)
        return tr("keys and values");
    const double bytes = static_cast<double>(m_model->budget.kvBytesPerToken) / 1000.0;
    return tr("%1 kB a token").arg(QLocale().toString(bytes, 'f', 1));
}

QString ControlBar::contextHint() const
{
    if (!m_model)
        return tr("prompt and answers");
    return tr("%1 of cache").arg(bytesText(m_model->budget.kvBytes));
}

QString ControlBar::samplingHint() const
{
    if (m_settings.sampling.temperature == 0.0)
        return tr("no chance, no seed");
    return m_settings.sampling.seed ? tr("seed %1").arg(*m_settings.sampling.seed) : tr("seed random");
}

void ControlBar::resizeEvent(QResizeEvent* event)
{
    Bar::resizeEvent(event);
    // On a narrow window the rarer controls move behind All settings.
    const int room = event->size().width();
    const int shown = room >= scaled(1180) ? 6 : room >= scaled(1000) ? 5 : room >= scaled(820) ? 4 : 3;
    for (int i = 0; i < static_cast<int>(m_fields.size()); ++i)
        m_fields[static_cast<std::size_t>(i)].box->setVisible(i < shown);
}

}  // namespace tokenscope::ui
