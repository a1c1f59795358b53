#include "ui/charts/timeline_chart.h"

#include "ui/charts/chart_text.h"
#include "ui/theme/fonts.h"
#include "ui/theme/metrics.h"

#include <QAreaSeries>
#include <QChart>
#include <QEvent>
#include <QKeyEvent>
#include <QLineSeries>
#include <QMouseEvent>
#include <QPainter>
#include <QPen>
#include <QValueAxis>

#include <algorithm>
#include <cmath>

namespace tokenscope::ui {
namespace {

// Room for the axis labels around the plot; fixed, so that the charts of the scope stand exactly above each other.
constexpr int kLeft = 34, kTop = 8, kRight = 6, kBottom = 20;
constexpr int kXTicks = 3;
constexpr double kMarkerRadius = 5.0;

QList<QPointF> asQt(const std::vector<ChartPoint>& points)
{
    QList<QPointF> list;
    list.reserve(static_cast<qsizetype>(points.size()));
    for (const ChartPoint& point : points)
        list.append(QPointF(point.x, point.y));
    return list;
}

QColor translucent(QColor color, double alpha)
{
    color.setAlphaF(static_cast<float>(alpha));
    return color;
}

}  // namespace

TimelineChart::TimelineChart(ColorRole lineRole, bool filled, QWidget* parent)
    : QChartView(parent), m_lineRole(lineRole), m_filled(filled), m_line(new QLineSeries), m_floor(new QLineSeries),
      m_fill(new QAreaSeries(m_line, m_floor)), m_bandLow(new QLineSeries), m_bandHigh(new QLineSeries),
      m_band(new QAreaSeries(m_bandHigh, m_bandLow)), m_ceiling(new QLineSeries), m_xAxis(new QValueAxis),
      m_yAxis(new QValueAxis)
{
    QChart* plot = chart();
    plot->legend()->hide();
    plot->setBackgroundVisible(false);
    plot->setPlotAreaBackgroundVisible(false);
    plot->setMargins(QMargins());
    plot->setAnimationOptions(QChart::NoAnimation);
    plot->addAxis(m_xAxis, Qt::AlignBottom);
    plot->addAxis(m_yAxis, Qt::AlignLeft);
    // Behind to front. A series in an area series is owned by us until the area takes it as its boundary.
    for (QAbstractSeries* series : {static_cast<QAbstractSeries*>(m_band), static_cast<QAbstractSeries*>(m_fill),
                                    static_cast<QAbstractSeries*>(m_ceiling), static_cast<QAbstractSeries*>(m_line)}) {
        plot->addSeries(series);
        series->attachAxis(m_xAxis);
        series->attachAxis(m_yAxis);
    }
    for (QLineSeries* boundary : {m_floor, m_bandLow, m_bandHigh})
        boundary->setParent(this);
    m_fill->setVisible(m_filled);
    // Grid and labels are painted by us: with a plot area of our choice Qt Charts shortens its labels to "…" and keeps
    // the grid of another size.
    m_xAxis->setVisible(false);
    m_yAxis->setVisible(false);

    setFrameShape(QFrame::NoFrame);
    setBackgroundBrush(Qt::NoBrush);
    setAttribute(Qt::WA_TranslucentBackground);
    viewport()->setAutoFillBackground(false);
    setRenderHint(QPainter::Antialiasing);
    setAcceptDrops(false);  // a graphics view takes every drop and does nothing with it
    setMouseTracking(true);
    setFocusPolicy(Qt::TabFocus);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    // The marker's card is painted over the chart and may lie anywhere on it.
    setViewportUpdateMode(QGraphicsView::FullViewportUpdate);
    applyColors();
    applyData();
}

QSize TimelineChart::sizeHint() const
{
    return {320, scaled(116)};
}

void TimelineChart::setData(TimelineData data)
{
    m_data = std::move(data);
    if (m_marker >= static_cast<int>(m_data.points.size()))
        m_marker = -1;
    applyData();
}

void TimelineChart::setMarker(int point, const QString& line1, const QString& line2)
{
    if (point < 0 || point >= static_cast<int>(m_data.points.size()))
        point = -1;
    m_marker = point;
    m_line1 = line1;
    m_line2 = line2;
    viewport()->update();
}

void TimelineChart::applyData()
{
    double highest = m_data.ceiling.value_or(0.0);
    for (const ChartPoint& point : m_data.points)
        highest = std::max(highest, point.y);
    // The axis only grows within an answer, and a little air keeps the highest point off the frame.
    m_yEnd = niceCeiling(highest * 1.02);
    m_xAxis->setRange(0.0, m_data.xEnd);
    m_yAxis->setRange(0.0, m_yEnd);
    const int columns = std::max(1, viewport()->width() - kLeft - kRight);
    m_line->replace(asQt(decimate(m_data.points, 0.0, m_data.xEnd, columns)));
    if (m_filled && !m_data.points.empty())
        m_floor->replace({QPointF(m_data.points.front().x, 0.0), QPointF(m_data.points.back().x, 0.0)});
    else
        m_floor->clear();
    m_band->setVisible(m_data.band.has_value());
    if (m_data.band) {
        m_bandLow->replace({QPointF(0.0, m_data.band->first), QPointF(m_data.xEnd, m_data.band->first)});
        m_bandHigh->replace({QPointF(0.0, m_data.band->second), QPointF(m_data.xEnd, m_data.band->second)});
    }
    m_ceiling->setVisible(m_data.ceiling.has_value());
    if (m_data.ceiling)
        m_ceiling->replace({QPointF(0.0, *m_data.ceiling), QPointF(m_data.xEnd, *m_data.ceiling)});
    viewport()->update();
}

void TimelineChart::applyColors()
{
    const Palette& colors = colorsOf(this);
    const QColor lineColor = colors.*m_lineRole;
    m_line->setPen(QPen(lineColor, 1.5));
    m_fill->setPen(Qt::NoPen);
    m_fill->setBrush(translucent(lineColor, 0.15));
    m_band->setPen(Qt::NoPen);
    m_band->setBrush(translucent(lineColor, 0.10));
    QPen ceilingPen(colors.warn, 1.5, Qt::CustomDashLine);
    ceilingPen.setDashPattern({4, 3});
    m_ceiling->setPen(ceilingPen);
    viewport()->update();
}

void TimelineChart::changeEvent(QEvent* event)
{
    QChartView::changeEvent(event);
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange)
        applyColors();
}

void TimelineChart::resizeEvent(QResizeEvent* event)
{
    QChartView::resizeEvent(event);
    const QSize size = viewport()->size();
    const int bottom = std::max(kBottom, scaled(kBottom));
    // A filled chart has a ceiling, whose label stands above the plot.
    const int top = m_filled ? scaled(kBottom) : kTop;
    chart()->setPlotArea(QRectF(scaled(kLeft), top, std::max(1, size.width() - scaled(kLeft) - kRight),
                                std::max(1, size.height() - top - bottom)));
    applyData();
}

int TimelineChart::nearestPoint(double x) const
{
    if (m_data.points.empty())
        return -1;
    const auto after = std::lower_bound(m_data.points.begin(), m_data.points.end(), x,
                                        [](const ChartPoint& point, double value) { return point.x < value; });
    if (after == m_data.points.begin())
        return 0;
    if (after == m_data.points.end())
        return static_cast<int>(m_data.points.size()) - 1;
    const auto before = after - 1;
    return static_cast<int>((x - before->x <= after->x - x ? before : after) - m_data.points.begin());
}

void TimelineChart::mouseMoveEvent(QMouseEvent* event)
{
    const QPointF place = event->position();
    if (!chart()->plotArea().adjusted(-4, -4, 4, 4).contains(place)) {
        emit pointHovered(-1);
        return;
    }
    emit pointHovered(nearestPoint(chart()->mapToValue(place, m_line).x()));
}

void TimelineChart::leaveEvent(QEvent* event)
{
    QChartView::leaveEvent(event);
    emit pointHovered(-1);
}

void TimelineChart::keyPressEvent(QKeyEvent* event)
{
    const int last = static_cast<int>(m_data.points.size()) - 1;
    int next = m_marker;
    switch (event->key()) {
    case Qt::Key_Left:
        next = m_marker < 0 ? last : std::max(0, m_marker - 1);
        break;
    case Qt::Key_Right:
        next = m_marker < 0 ? 0 : std::min(last, m_marker + 1);
        break;
    case Qt::Key_Home:
        next = 0;
        break;
    case Qt::Key_End:
        next = last;
        break;
    default:
        QChartView::keyPressEvent(event);
        return;
    }
    if (last >= 0)
        emit pointHovered(next);
    event->accept();
}

void TimelineChart::drawBackground(QPainter* painter, const QRectF& rect)
{
    QChartView::drawBackground(painter, rect);
    const QRectF plot = chart()->plotArea();
    const int steps = niceSteps(m_yEnd);
    painter->setPen(QPen(colorsOf(this).grid, 1));
    for (int i = 0; i <= steps; ++i) {
        const double y = std::round(plot.bottom() - plot.height() * i / steps) + 0.5;
        painter->drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y));
    }
}

void TimelineChart::drawForeground(QPainter* painter, const QRectF& rect)
{
    QChartView::drawForeground(painter, rect);
    const Palette& colors = colorsOf(this);
    const QRectF plot = chart()->plotArea();
    painter->save();
    drawLabels(*painter, plot);
    if (hasFocus()) {
        painter->setPen(QPen(colors.accent, 1));
        painter->setBrush(Qt::NoBrush);
        painter->drawRoundedRect(QRectF(viewport()->rect()).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4);
    }
    if (m_data.ceiling && !m_data.ceilingLabel.isEmpty()) {
        const double y = chart()->mapToPosition(QPointF(0.0, *m_data.ceiling), m_ceiling).y();
        painter->setFont(roleFont(FontRole::Axis));
        painter->setPen(colors.warn);
        const double height = painter->fontMetrics().height();
        // Above the line where there is room, else below it.
        const double top = y - height - 1 >= 0 ? y - height - 1 : y + 2;
        painter->drawText(QRectF(plot.left(), top, plot.width(), height), Qt::AlignRight | Qt::AlignVCenter,
                          m_data.ceilingLabel);
    }
    if (m_marker >= 0 && m_marker < static_cast<int>(m_data.points.size())) {
        const ChartPoint& point = m_data.points[static_cast<std::size_t>(m_marker)];
        const QPointF place = chart()->mapToPosition(QPointF(point.x, point.y), m_line);
        QPen dashed(colors.s3, 1.2, Qt::CustomDashLine);
        dashed.setDashPattern({3, 3});
        painter->setPen(dashed);
        painter->drawLine(QPointF(place.x(), plot.top()), QPointF(place.x(), plot.bottom()));
        painter->setPen(QPen(colors.s3, 2));
        painter->setBrush(colors.panel);
        painter->drawEllipse(place, kMarkerRadius, kMarkerRadius);
        if (!m_line1.isEmpty())
            drawCard(*painter, place, plot);
    }
    painter->restore();
}

void TimelineChart::drawLabels(QPainter& painter, const QRectF& plot) const
{
    painter.setFont(roleFont(FontRole::Axis));
    painter.setPen(colorsOf(this).faint);
    const double height = painter.fontMetrics().height();
    if (m_data.points.empty() && !m_data.emptyText.isEmpty()) {
        painter.drawText(plot.adjusted(0, 2, 0, 0), Qt::AlignCenter | Qt::TextWordWrap, m_data.emptyText);
        if (!m_data.ceiling)
            return;  // an axis without data or ceiling has no scale
    }
    const int steps = niceSteps(m_yEnd);
    for (int i = 0; i <= steps; ++i) {
        const double value = m_yEnd * i / steps, y = plot.bottom() - plot.height() * i / steps;
        painter.drawText(QRectF(0, y - height / 2, plot.left() - 6, height), Qt::AlignRight | Qt::AlignVCenter,
                         axisNumber(value));
    }
    for (int i = 0; i < kXTicks; ++i) {
        const double value = m_data.xEnd * i / (kXTicks - 1), x = plot.left() + plot.width() * i / (kXTicks - 1);
        const bool last = i == kXTicks - 1;
        QString text = axisNumber(value);
        if (last && !m_data.xUnit.isEmpty())
            text += u' ' + m_data.xUnit;
        const Qt::Alignment side = i == 0 ? Qt::AlignLeft : last ? Qt::AlignRight : Qt::AlignHCenter;
        const double left = i == 0 ? x : last ? x - 120 : x - 60;
        painter.drawText(QRectF(left, plot.bottom() + 4, 120, height), side | Qt::AlignVCenter, text);
    }
}

void TimelineChart::drawCard(QPainter& painter, QPointF anchor, const QRectF& plot) const
{
    const Palette& colors = colorsOf(this);
    painter.setFont(roleFont(FontRole::Axis));
    const QFontMetricsF metrics(painter.font());
    const double textWidth = std::max(metrics.horizontalAdvance(m_line1), metrics.horizontalAdvance(m_line2));
    const double lineHeight = metrics.height();
    const int lines = m_line2.isEmpty() ? 1 : 2;
    const QSizeF size(textWidth + 2 * kSpace2, lines * lineHeight + kSpace2);
    // Beside the marker, on the side with room; where there is none, above or below the point instead of over it.
    constexpr double kAway = 12;
    double left = anchor.x() - size.width() - kAway, top = plot.top();
    if (left < 1)
        left = anchor.x() + kAway;
    if (left + size.width() > viewport()->width() - 1) {
        left = std::clamp(anchor.x() - size.width() / 2, 1.0, std::max(1.0, viewport()->width() - size.width() - 1.0));
        top = anchor.y() - size.height() - kAway;
        if (top < 1)
            top = std::min(anchor.y() + kAway, viewport()->height() - size.height() - 1.0);
    }
    const QRectF card(QPointF(left, top), size);
    painter.setPen(QPen(colors.line, 1));
    painter.setBrush(colors.raised);
    painter.drawRoundedRect(card, 6, 6);
    QRectF text = card.adjusted(kSpace2, kSpace1, -kSpace2, -kSpace1);
    painter.setPen(colors.text);
    painter.drawText(text, Qt::AlignLeft | Qt::AlignTop, m_line1);
    painter.setPen(colors.dim);
    painter.drawText(text.adjusted(0, lineHeight, 0, lineHeight), Qt::AlignLeft | Qt::AlignTop, m_line2);
}

}  // namespace tokenscope::ui
