#include "ui/widgets/transcript_empty.h"

#include "ui/widgets/pill_button.h"
#include "ui/widgets/text_label.h"
#include "ui/widgets/transcript_view.h"

#include <QEvent>
#include <QVBoxLayout>

namespace tokenscope::ui {

TranscriptEmpty::TranscriptEmpty(TranscriptView& view) : QWidget(view.viewport()), m_view(view)
{
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(26, 20, 26, 20);
    column->setSpacing(8);
    column->addStretch(2);
    column->addWidget(new TextLabel(tr("Ask something"), FontRole::Big, &Palette::text, this), 0, Qt::AlignHCenter);
    auto* about = new TextLabel(tr("The answer is written here, and the scope shows where its time goes."),
                                FontRole::Body, &Palette::dim, this);
    about->setWordWrap(true);
    about->setAlignment(Qt::AlignHCenter);
    column->addWidget(about);
    column->addSpacing(8);
    for (const QString& prompt : {tr("Why does a rainbow have bands of colour?"), tr("Write a haiku about rivers."),
                                  tr("Explain what a key/value cache is for.")}) {
        auto* button = new PillButton(PillButton::Kind::Secondary, prompt, this);
        connect(button, &QPushButton::clicked, this, [this, prompt] { emit promptChosen(prompt); });
        column->addWidget(button, 0, Qt::AlignHCenter);
    }
    column->addStretch(3);
    view.viewport()->installEventFilter(this);
    connect(view.model(), &QAbstractItemModel::modelReset, this, &TranscriptEmpty::place);
    connect(view.model(), &QAbstractItemModel::rowsInserted, this, &TranscriptEmpty::place);
    place();
}

bool TranscriptEmpty::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::Resize || event->type() == QEvent::Show)
        place();
    return QWidget::eventFilter(watched, event);
}

void TranscriptEmpty::place()
{
    setGeometry(m_view.viewport()->rect());
    setVisible(m_view.model()->rowCount() == 0);
}

}  // namespace tokenscope::ui
