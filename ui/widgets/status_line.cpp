#include "ui/widgets/status_line.h"

#include "ui/theme/fonts.h"
#include "ui/widgets/painting.h"

#include <QHelpEvent>
#include <QToolTip>

namespace tokenscope::ui {

StatusLine::StatusLine(QWidget* parent) : Bar(Qt::TopEdge, parent), m_entries(4)
{
    setFixedHeight(scaled(24));
    setAccessibleName(tr("Status"));
}

void StatusLine::setField(Field field, const QString& text, const QString& definition)
{
    Entry& entry = m_entries[static_cast<std::size_t>(field)];
    if (entry.text == text && entry.definition == definition)
        return;
    entry.text = text;
    entry.definition = definition;
    describe();
    update();
}

void StatusLine::setReady(bool ready)
{
    m_ready = ready;
    update();
}

void StatusLine::describe()
{
    QStringList texts;
    for (const Entry& entry : m_entries)
        if (!entry.text.isEmpty())
            texts << entry.text;
    setAccessibleDescription(texts.join(QStringLiteral(", ")));
}

void StatusLine::changeEvent(QEvent* event)
{
    Bar::changeEvent(event);
    if (event->type() == QEvent::FontChange)
        setFixedHeight(scaled(24));
}

void StatusLine::paintEvent(QPaintEvent* event)
{
    Bar::paintEvent(event);
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const Palette& colors = colorsOf(this);
    painter.setFont(roleFont(FontRole::Small));
    const QFontMetricsF metrics(painter.font());
    const double baseline = (height() + 1 + metrics.capHeight()) / 2.0;
    double x = 14;
    painter.setPen(Qt::NoPen);
    painter.setBrush(m_ready ? colors.good : colors.faint);
    painter.drawEllipse(QRectF(x, baseline - metrics.capHeight() / 2 - 3.5, 7, 7));
    x += 13;

    const QString network = tr("network off");
    const double right = width() - 14 - metrics.horizontalAdvance(network);
    painter.setPen(colors.dim);
    for (Entry& entry : m_entries) {
        if (entry.text.isEmpty())
            continue;
        const double advance = tabularWidth(painter.font(), entry.text);
        entry.place = QRectF(x, 0, advance, height());
        if (x + advance > right - 8) {
            entry.place = {};
            break;  // what a narrow window has no room for
        }
        drawTabular(painter, QPointF(x, baseline), entry.text);
        x += advance + 18;
    }
    painter.drawText(QPointF(right, baseline), network);
}

bool StatusLine::event(QEvent* event)
{
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        for (const Entry& entry : m_entries)
            if (entry.place.contains(help->pos()) && !entry.definition.isEmpty()) {
                QToolTip::showText(help->globalPos(), entry.definition, this);
                return true;
            }
        QToolTip::hideText();
        return true;
    }
    return Bar::event(event);
}

}  // namespace tokenscope::ui
