// A thin bar: a share from 0 to 1. No animation of its own.
#pragma once

#include <QWidget>

namespace tokenscope::ui {

class ProgressLine : public QWidget {
    Q_OBJECT

public:
    explicit ProgressLine(QWidget* parent = nullptr);

    void setShare(double share);
    QSize sizeHint() const override { return {120, 6}; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    double m_share = 0.0;
};

}  // namespace tokenscope::ui
