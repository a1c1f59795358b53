#include "ui/widgets/progress_line.h"

#include "ui/widgets/painting.h"

#include <algorithm>

namespace tokenscope::ui {

ProgressLine::ProgressLine(QWidget* parent) : QWidget(parent)
{
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void ProgressLine::setShare(double share)
{
    m_share = std::clamp(share, 0.0, 1.0);
    setAccessibleDescription(tr("%1 %").arg(qRound(m_share * 100)));
    update();
}

void ProgressLine::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    const Palette& colors = colorsOf(this);
    QRectF bar = rect();
    drawBox(painter, bar, 3, colors.grid);
    bar.setWidth(bar.width() * m_share);
    if (bar.width() >= 1)
        drawBox(painter, bar, 3, colors.accent);
}

}  // namespace tokenscope::ui
