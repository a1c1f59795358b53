// A value per token on a shared horizontal axis, drawn by Qt Charts: line, optional fill, optional band, optional
// ceiling. Fed with replace() only, decimated to the pixels there are; axes, colours and grid are set by us, because
// charts follow neither palette nor data. The marker and its card are painted over the chart.
#pragma once

#include "ui/charts/decimate.h"
#include "ui/theme/palette.h"

#include <QChartView>
#include <QString>

#include <optional>
#include <utility>
#include <vector>

class QAreaSeries;
class QLineSeries;
class QValueAxis;

namespace tokenscope::ui {

struct TimelineData {
    std::vector<ChartPoint> points;  // ascending in x; y in the chart's unit
    double xEnd = 1.0;               // the axis runs from 0 to here, the same for all charts of the scope
    QString xUnit;                   // "tokens", "s"
    QString emptyText;               // shown while there are no points
    std::optional<double> ceiling;
    QString ceilingLabel;
    std::optional<std::pair<double, double>> band;  // drawn behind the line over the whole width
};

class TimelineChart : public QChartView {
    Q_OBJECT

public:
    // lineRole: colour of the series. filled: the area below the line too.
    TimelineChart(ColorRole lineRole, bool filled, QWidget* parent = nullptr);

    void setData(TimelineData data);
    // Marks the point at this index of `points`, with up to two lines of text; -1 = none.
    void setMarker(int point, const QString& line1 = {}, const QString& line2 = {});
    int marker() const { return m_marker; }
    const TimelineData& data() const { return m_data; }
    double yEnd() const { return m_yEnd; }

signals:
    void pointHovered(int point);  // nearest to the mouse, or chosen by the arrow keys; -1 when it leaves

protected:
    void changeEvent(QEvent* event) override;
    void drawBackground(QPainter* painter, const QRectF& rect) override;
    void drawForeground(QPainter* painter, const QRectF& rect) override;
    void keyPressEvent(QKeyEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    QSize sizeHint() const override;

private:
    void applyColors();
    void applyData();
    int nearestPoint(double x) const;
    void drawLabels(QPainter& painter, const QRectF& plot) const;
    void drawCard(QPainter& painter, QPointF anchor, const QRectF& plot) const;

    ColorRole m_lineRole;
    bool m_filled;
    TimelineData m_data;
    double m_yEnd = 1.0;
    int m_marker = -1;
    QString m_line1, m_line2;

    // Owned by the chart.
    QLineSeries* m_line;
    QLineSeries* m_floor;
    QAreaSeries* m_fill;
    QLineSeries* m_bandLow;
    QLineSeries* m_bandHigh;
    QAreaSeries* m_band;
    QLineSeries* m_ceiling;
    QValueAxis* m_xAxis;
    QValueAxis* m_yAxis;
};

}  // namespace tokenscope::ui
