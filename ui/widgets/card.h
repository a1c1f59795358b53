// A panel with a hairline border and rounded corners: what charts, lists and forms sit on.
#pragma once

#include <QWidget>

namespace tokenscope::ui {

class Card : public QWidget {
    Q_OBJECT

public:
    explicit Card(QWidget* parent = nullptr);

    void setDashed(bool dashed);            // a place to drop something
    void setHighlighted(bool highlighted);  // something is being dragged over it

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    bool m_dashed = false;
    bool m_highlighted = false;
};

// A 1 px line.
class Hairline : public QWidget {
    Q_OBJECT

public:
    explicit Hairline(Qt::Orientation orientation, QWidget* parent = nullptr);

protected:
    void paintEvent(QPaintEvent* event) override;
};

// A bar in the colour of panels, with a hairline along one edge.
class Bar : public QWidget {
    Q_OBJECT

public:
    explicit Bar(Qt::Edge hairline, QWidget* parent = nullptr);

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    Qt::Edge m_edge;
};

}  // namespace tokenscope::ui
