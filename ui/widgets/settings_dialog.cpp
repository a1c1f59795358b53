#include "ui/widgets/settings_dialog.h"

#include "ui/widgets/card.h"
#include "ui/widgets/choice_button.h"
#include "ui/widgets/painting.h"
#include "ui/widgets/pill_button.h"
#include "ui/widgets/text_label.h"

#include <QHBoxLayout>
#include <QLineEdit>
#include <QLocale>
#include <QScrollArea>
#include <QVBoxLayout>

#include <functional>

namespace tokenscope::ui {
namespace {

QString text(std::string_view view)
{
    return QString::fromUtf8(view.data(), static_cast<qsizetype>(view.size()));
}

QString rangeText(const SettingInfo& info)
{
    QStringList parts;
    if (info.kind == SettingKind::Integer || info.kind == SettingKind::Number)
        parts << SettingsDialog::tr("%1 to %2 %3")
                     .arg(QLocale().toString(info.minimum, 'g', 12), QLocale().toString(info.maximum, 'g', 12),
                          text(info.unit))
                     .trimmed();
    if (!info.defaultValue.empty())
        parts << SettingsDialog::tr("default %1").arg(text(info.defaultValue));
    if (info.needsReload)
        parts << SettingsDialog::tr("takes effect with a reload");
    return parts.join(SettingsDialog::tr(" · "));
}

}  // namespace

class SettingRow : public QWidget {
public:
    using Apply = std::function<QString(const QString& key, const QString& value)>;  // "" or why it is refused

    SettingRow(const SettingInfo& info, Apply apply, QWidget* parent)
        : QWidget(parent), m_key(text(info.key)), m_default(text(info.defaultValue)), m_apply(std::move(apply)),
          m_problem(new TextLabel({}, FontRole::Small, &Palette::bad, this))
    {
        auto* row = new QHBoxLayout(this);
        row->setContentsMargins(0, kSpace2, 0, kSpace2);
        row->setSpacing(kSpace4);
        auto* words = new QVBoxLayout;
        words->setSpacing(1);
        words->addWidget(new TextLabel(text(info.label), FontRole::BodyStrong, &Palette::text, this));
        auto* affects = new TextLabel(text(info.affects), FontRole::Small, &Palette::dim, this);
        affects->setWordWrap(true);
        words->addWidget(affects);
        words->addWidget(new TextLabel(rangeText(info), FontRole::Small, &Palette::faint, this));
        m_problem->setWordWrap(true);
        m_problem->hide();
        words->addWidget(m_problem);
        row->addLayout(words, 1);

        const bool chosen = info.kind == SettingKind::Choice || info.kind == SettingKind::Switch;
        if (chosen) {
            m_choice = new ChoiceButton(text(info.label), this);
            std::vector<Choice> choices;
            if (info.kind == SettingKind::Switch)
                choices = {{QStringLiteral("on"), tr("on"), {}, false}, {QStringLiteral("off"), tr("off"), {}, false}};
            for (std::string_view choice : info.choices)
                choices.push_back({text(choice), text(choice), {}, false});
            m_choice->setChoices(std::move(choices));
            QObject::connect(m_choice, &ChoiceButton::chosen, this, [this](const QString& value) { enter(value); });
            m_choice->setFixedWidth(scaled(160));
            row->addWidget(m_choice, 0, Qt::AlignTop);
        } else {
            m_edit = new QLineEdit(this);
            m_edit->setAccessibleName(text(info.label));
            m_edit->setAccessibleDescription(text(info.affects));
            m_edit->setPlaceholderText(m_default.isEmpty() ? tr("none") : m_default);
            m_edit->setFixedWidth(scaled(160));
            QObject::connect(m_edit, &QLineEdit::editingFinished, this, [this] {
                if (m_edit->text() != m_shown)
                    enter(m_edit->text());
            });
            row->addWidget(m_edit, 0, Qt::AlignTop);
        }
    }

    QString key() const { return m_key; }

    void show(const QString& value)
    {
        m_shown = value;
        if (m_choice)
            m_choice->setValue(value);
        else
            m_edit->setText(value);
    }

    QString enter(const QString& value)
    {
        // An emptied field means the default.
        const QString meant = value.trimmed().isEmpty() ? m_default : value;
        const QString problem = m_apply(m_key, meant);
        m_problem->setText(problem);
        m_problem->setVisible(!problem.isEmpty());
        if (problem.isEmpty())
            show(meant);
        return problem;
    }

private:
    static QString tr(const char* source) { return SettingsDialog::tr(source); }

    QString m_key, m_default, m_shown;
    Apply m_apply;
    ChoiceButton* m_choice = nullptr;
    QLineEdit* m_edit = nullptr;
    TextLabel* m_problem;
};

SettingsDialog::SettingsDialog(const Settings& settings, QWidget* parent) : QDialog(parent), m_settings(settings)
{
    setWindowTitle(tr("Settings"));
    auto* content = new QWidget;
    auto* column = new QVBoxLayout(content);
    column->setContentsMargins(kSpace4, kSpace3, kSpace4, kSpace3);
    column->setSpacing(0);
    const auto apply = [this](const QString& key, const QString& value) -> QString {
        Settings changed = m_settings;
        const std::string name = key.toStdString();
        // Stop texts add up in the table; a field of its own replaces them.
        if (name == "stop")
            changed.sampling.stop.clear();
        if (const Result<void> set = setSetting(changed, name, value.toStdString()); !set)
            return QString::fromStdString(set.error().message);
        m_settings = changed;
        emit settingsChanged();
        return {};
    };
    for (const bool engine : {false, true}) {
        auto* heading = new TextLabel(engine ? tr("Engine") : tr("Sampling"), FontRole::Title, &Palette::text, content);
        heading->setContentsMargins(0, engine ? kSpace4 : 0, 0, kSpace1);
        column->addWidget(heading);
        for (const SettingInfo& info : settingTable()) {
            if (info.needsReload != engine)
                continue;
            auto* row = new SettingRow(info, apply, content);
            row->show(QString::fromStdString(settingValue(m_settings, info.key)));
            column->addWidget(row);
            column->addWidget(new Hairline(Qt::Horizontal, content));
            m_rows.push_back(row);
        }
    }
    column->addStretch(1);

    auto* scroll = new QScrollArea(this);
    scroll->setWidget(content);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setFocusPolicy(Qt::NoFocus);

    auto* reset = new PillButton(PillButton::Kind::Secondary, tr("Reset all"), this);
    auto* close = new PillButton(PillButton::Kind::Primary, tr("Done"), this);
    connect(reset, &QAbstractButton::clicked, this, &SettingsDialog::resetAll);
    connect(close, &QAbstractButton::clicked, this, &QDialog::accept);
    auto* buttons = new QHBoxLayout;
    buttons->setContentsMargins(kSpace4, kSpace2, kSpace4, kSpace3);
    buttons->addWidget(reset);
    buttons->addStretch(1);
    buttons->addWidget(close);
    auto* outer = new QVBoxLayout(this);
    outer->setContentsMargins(0, 0, 0, 0);
    outer->addWidget(scroll, 1);
    outer->addLayout(buttons);
    resize(scaled(620), scaled(560));
}

QString SettingsDialog::enter(const QString& key, const QString& value)
{
    for (SettingRow* row : m_rows)
        if (row->key() == key)
            return row->enter(value);
    return tr("%1: no such setting").arg(key);
}

void SettingsDialog::resetAll()
{
    for (SettingRow* row : m_rows)
        row->enter({});
}

}  // namespace tokenscope::ui
