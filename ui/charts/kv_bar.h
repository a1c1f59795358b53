// How full the key/value cache is: what this chat's prompt holds, what this answer added, and what is free.
#pragma once

#include "app/services/scope_service.h"

#include <QWidget>

namespace tokenscope::ui {

class KvBar : public QWidget {
    Q_OBJECT

public:
    explicit KvBar(QWidget* parent = nullptr);

    void setFill(const KvFill& fill);

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return sizeHint(); }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    KvFill m_fill;
};

// "2,689 of 8,192 tokens · 23.0 kB a token · full in ≈ 5,500 more, then stop"
QString kvForecast(const KvFill& fill);

}  // namespace tokenscope::ui
