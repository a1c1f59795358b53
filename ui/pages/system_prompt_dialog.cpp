#include "ui/pages/system_prompt_dialog.h"

#include "ui/widgets/pill_button.h"
#include "ui/widgets/text_label.h"

#include <QHBoxLayout>
#include <QPlainTextEdit>
#include <QVBoxLayout>

namespace tokenscope::ui {

SystemPromptDialog::SystemPromptDialog(const QString& text, QWidget* parent) : QDialog(parent)
{
    setWindowTitle(tr("System prompt"));
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(20, 18, 20, 16);
    column->setSpacing(10);
    column->addWidget(new TextLabel(tr("System prompt of this chat"), FontRole::Title, &Palette::text, this));
    auto* about =
        new TextLabel(tr("Told to the model before the first message. It takes effect with the next answer, which "
                         "then reads the whole conversation again."),
                      FontRole::Body, &Palette::dim, this);
    about->setWordWrap(true);
    column->addWidget(about);
    m_edit = new QPlainTextEdit(text, this);
    m_edit->setAccessibleName(tr("System prompt"));
    m_edit->setPlaceholderText(tr("For example: You are a patient teacher. Answer in three sentences."));
    m_edit->setTabChangesFocus(true);
    column->addWidget(m_edit, 1);
    auto* buttons = new QHBoxLayout;
    buttons->addStretch(1);
    auto* cancel = new PillButton(PillButton::Kind::Secondary, tr("Cancel"), this);
    auto* save = new PillButton(PillButton::Kind::Primary, tr("Use it"), this);
    buttons->addWidget(cancel);
    buttons->addWidget(save);
    column->addLayout(buttons);
    connect(cancel, &QPushButton::clicked, this, &QDialog::reject);
    connect(save, &QPushButton::clicked, this, &QDialog::accept);
    resize(520, 320);
}

QString SystemPromptDialog::text() const
{
    return m_edit->toPlainText().trimmed();
}

}  // namespace tokenscope::ui
