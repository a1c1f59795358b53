// The wait for the first token of the last answers as stacked bars, one colour a phase, in their order.
#pragma once

#include "app/services/scope_service.h"

#include <QWidget>

#include <vector>

namespace tokenscope::ui {

class TtftBars : public QWidget {
    Q_OBJECT

public:
    explicit TtftBars(QWidget* parent = nullptr);

    void setSplits(std::vector<TtftSplit> splits);  // newest first

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return sizeHint(); }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    std::vector<TtftSplit> m_splits;
};

}  // namespace tokenscope::ui
