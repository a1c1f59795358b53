#include "ui/charts/ttft_bars.h"

#include "ui/charts/chart_text.h"
#include "ui/theme/fonts.h"
#include "ui/theme/metrics.h"
#include "ui/theme/palette.h"

#include <QPainter>

#include <algorithm>
#include <array>

namespace tokenscope::ui {
namespace {

constexpr int kRows = 3, kRowHeight = 22, kBarHeight = 14, kLabelWidth = 36;
constexpr double kPhaseGap = 1.0;        // between phases, so that they part without colour too
constexpr double kNarrowestPhase = 2.0;  // a phase that took time stays visible

}  // namespace

TtftBars::TtftBars(QWidget* parent) : QWidget(parent)
{
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void TtftBars::setSplits(std::vector<TtftSplit> splits)
{
    m_splits = std::move(splits);
    update();
}

QSize TtftBars::sizeHint() const
{
    return {240, scaled(kRows * kRowHeight + 20)};
}

void TtftBars::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const Palette& colors = colorsOf(this);
    const QFont axis = roleFont(FontRole::Axis), small = roleFont(FontRole::Small);
    const std::array<std::pair<QColor, QString>, 4> phases{{{colors.s4, tr("tokenise")},
                                                            {colors.s2, tr("queue")},
                                                            {colors.s1, tr("prefill")},
                                                            {colors.s3, tr("first sample")}}};
    const double labelWidth = scaled(kLabelWidth), rowHeight = scaled(kRowHeight), barHeight = scaled(kBarHeight);
    const double valueWidth = QFontMetricsF(small).horizontalAdvance(QStringLiteral("00,000 ms")) + kSpace2;
    const double fullWidth = std::max(10.0, width() - labelWidth - valueWidth);

    double longest = 0.0;
    for (const TtftSplit& split : m_splits)
        longest = std::max({longest, split.knownMs(), split.totalMs.value_or(0.0)});
    if (m_splits.empty()) {
        painter.setFont(small);
        painter.setPen(colors.faint);
        painter.drawText(QRectF(0, 0, width(), kRows * rowHeight), Qt::AlignCenter,
                         tr("The wait of each answer stands here, split by phase."));
    }
    for (std::size_t row = 0; row < m_splits.size(); ++row) {
        const TtftSplit& split = m_splits[row];
        const double top = static_cast<double>(row) * rowHeight;
        painter.setFont(axis);
        painter.setPen(colors.faint);
        painter.drawText(QRectF(0, top, labelWidth - kSpace2, rowHeight), Qt::AlignRight | Qt::AlignVCenter,
                         row == 0 ? tr("now") : QStringLiteral("−%1").arg(row));
        double x = labelWidth;
        const std::array<std::optional<double>, 4> durations{split.tokenizeMs, split.queueMs, split.prefillMs,
                                                             split.firstSampleMs};
        painter.setPen(Qt::NoPen);
        for (std::size_t i = 0; i < phases.size(); ++i) {
            const double ms = durations[i].value_or(0.0);
            if (ms <= 0.0 || longest <= 0.0)
                continue;
            const double w = std::max(kNarrowestPhase, ms / longest * fullWidth);
            painter.setBrush(phases[i].first);
            painter.drawRoundedRect(QRectF(x, top + (rowHeight - barHeight) / 2, w, barHeight), 2, 2);
            x += w + kPhaseGap;
        }
        painter.setFont(small);
        painter.setPen(row == 0 ? colors.text : colors.dim);
        painter.drawText(QRectF(x + kSpace1, top, valueWidth, rowHeight), Qt::AlignLeft | Qt::AlignVCenter,
                         split.totalMs ? tr("%1 ms").arg(shortNumber(*split.totalMs)) : tr("…"));
    }

    painter.setFont(axis);
    double x = labelWidth;
    const double top = kRows * rowHeight + 4;
    for (const auto& [color, name] : phases) {
        painter.setPen(Qt::NoPen);
        painter.setBrush(color);
        painter.drawRoundedRect(QRectF(x, top + 3, 8, 8), 2, 2);
        painter.setPen(colors.dim);
        const double w = painter.fontMetrics().horizontalAdvance(name);
        painter.drawText(QRectF(x + 12, top, w + 2, 14), Qt::AlignLeft | Qt::AlignVCenter, name);
        x += 12 + w + kSpace3;
    }
}

}  // namespace tokenscope::ui
