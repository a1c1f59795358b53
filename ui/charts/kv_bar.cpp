#include "ui/charts/kv_bar.h"

#include "ui/charts/chart_text.h"
#include "ui/theme/fonts.h"
#include "ui/theme/metrics.h"
#include "ui/theme/palette.h"

#include <QPainter>
#include <QPainterPath>

#include <algorithm>

namespace tokenscope::ui {

QString kvForecast(const KvFill& fill)
{
    if (fill.context <= 0)
        return KvBar::tr("No model is loaded.");
    QString text = KvBar::tr("%1 of %2 tokens").arg(wholeNumber(fill.tokens), wholeNumber(fill.context));
    if (fill.bytesPerToken > 0)
        text += KvBar::tr(" · %1 a token").arg(decimalBytesText(fill.bytesPerToken));
    if (fill.tokensLeft() == 0)
        return text + KvBar::tr(" · full: the answer stops here");
    return text + KvBar::tr(" · full in %1 more, then stop").arg(wholeNumber(fill.tokensLeft()));
}

KvBar::KvBar(QWidget* parent) : QWidget(parent)
{
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void KvBar::setFill(const KvFill& fill)
{
    m_fill = fill;
    update();
}

QSize KvBar::sizeHint() const
{
    return {240, scaled(58)};
}

void KvBar::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const Palette& colors = colorsOf(this);
    const QRectF bar(0, 2, width(), scaled(16));
    painter.setPen(Qt::NoPen);
    painter.setBrush(colors.grid);
    painter.drawRoundedRect(bar, 3, 3);

    const int answer = std::max(0, m_fill.tokens - m_fill.promptTokens);
    const double used =
        m_fill.totalBytes > 0 ? static_cast<double>(m_fill.usedBytes) / static_cast<double>(m_fill.totalBytes) : 0.0;
    const double promptShare = m_fill.tokens > 0 ? static_cast<double>(m_fill.promptTokens) / m_fill.tokens : 0.0;
    QPainterPath clip;
    clip.addRoundedRect(bar, 3, 3);
    painter.save();
    painter.setClipPath(clip);
    const double usedWidth = used * bar.width();
    painter.fillRect(QRectF(bar.left(), bar.top(), usedWidth * promptShare, bar.height()), colors.s2);
    painter.fillRect(
        QRectF(bar.left() + usedWidth * promptShare, bar.top(), usedWidth * (1 - promptShare), bar.height()),
        colors.s1);
    painter.restore();

    painter.setFont(roleFont(FontRole::Axis));
    const double legendTop = bar.bottom() + 6, lineHeight = painter.fontMetrics().height();
    double x = 0;
    const auto legend = [&](const QColor& color, const QString& text) {
        painter.setPen(Qt::NoPen);
        painter.setBrush(color);
        painter.drawRoundedRect(QRectF(x, legendTop + (lineHeight - 8) / 2, 8, 8), 2, 2);
        painter.setPen(colors.dim);
        const double w = painter.fontMetrics().horizontalAdvance(text);
        painter.drawText(QRectF(x + 12, legendTop, w + 2, lineHeight), Qt::AlignLeft | Qt::AlignVCenter, text);
        x += 12 + w + kSpace4;
    };
    legend(colors.s2, tr("this chat %1").arg(decimalBytesText(static_cast<double>(m_fill.usedBytes) * promptShare)));
    legend(colors.s1,
           tr("this answer %1")
               .arg(decimalBytesText(answer > 0 ? static_cast<double>(m_fill.usedBytes) * (1 - promptShare) : 0.0)));

    painter.setPen(colors.text);
    const QString forecast = painter.fontMetrics().elidedText(kvForecast(m_fill), Qt::ElideRight, width());
    painter.drawText(QRectF(0, legendTop + lineHeight + 3, width(), lineHeight), Qt::AlignLeft | Qt::AlignVCenter,
                     forecast);
}

}  // namespace tokenscope::ui
