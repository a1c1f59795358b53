#include "ui/widgets/notice_bar.h"

#include "ui/theme/icons.h"
#include "ui/widgets/painting.h"
#include "ui/widgets/pill_button.h"
#include "ui/widgets/text_label.h"

#include <QAccessible>
#include <QHBoxLayout>

namespace tokenscope::ui {

NoticeBar::NoticeBar(QWidget* parent) : QWidget(parent)
{
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(38, 5, 6, 5);
    row->setSpacing(8);
    m_text = new TextLabel(QString(), FontRole::Body, &Palette::text, this);
    m_text->setWordWrap(true);
    m_text->setTextInteractionFlags(Qt::TextSelectableByMouse);
    row->addWidget(m_text, 1);
    m_action = new PillButton(PillButton::Kind::Secondary, QString(), this);
    m_action->setAccessibleName(tr("Act on this message"));
    row->addWidget(m_action);
    m_close = PillButton::icon(QStringLiteral("close"), tr("Close this message"), this);
    row->addWidget(m_close);
    connect(m_action, &QPushButton::clicked, this, [this] {
        hide();
        if (m_do)
            std::exchange(m_do, {})();
    });
    connect(m_close, &QPushButton::clicked, this, &QWidget::hide);
    m_timer.setSingleShot(true);
    connect(&m_timer, &QTimer::timeout, this, &QWidget::hide);
    hide();
}

QString NoticeBar::text() const
{
    return m_text->text();
}

void NoticeBar::show(Kind kind, const QString& text, const QString& actionText, std::function<void()> action,
                     int milliseconds)
{
    m_kind = kind;
    m_text->setText(text);
    m_action->setText(actionText);
    m_action->setVisible(!actionText.isEmpty());
    m_action->setAccessibleName(actionText);
    m_do = std::move(action);
    m_timer.stop();
    if (milliseconds > 0)
        m_timer.start(milliseconds);
    setAccessibleName(text);
    setVisible(true);
    update();
    QAccessibleEvent announcement(this, QAccessible::Alert);
    QAccessible::updateAccessibility(&announcement);
}

void NoticeBar::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const Palette& colors = colorsOf(this);
    const QColor ink = m_kind == Kind::Error ? colors.bad : m_kind == Kind::Warning ? colors.warn : colors.dim;
    drawBox(painter, rect(), kRadius, m_kind == Kind::Plain ? colors.raised : mixed(colors.panel, ink, 0.08),
            m_kind == Kind::Plain ? colors.line : mixed(colors.panel, ink, 0.45));
    drawIcon(painter, QRectF(12, (height() - 18) / 2.0, 18, 18),
             m_kind != Kind::Plain ? QStringLiteral("warning")
             : m_do                ? QStringLiteral("undo")
                                   : QStringLiteral("check"),
             ink);
}

}  // namespace tokenscope::ui
