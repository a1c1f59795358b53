// The pages, as a column of icons with names; only pages that exist are in it.
#pragma once

#include "ui/widgets/card.h"

#include <QAbstractButton>

class QButtonGroup;
class QVBoxLayout;

namespace tokenscope::ui {

class RailButton : public QAbstractButton {
    Q_OBJECT

public:
    RailButton(const QString& icon, const QString& name, QWidget* parent = nullptr);
    QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;

private:
    QString m_icon;
    bool m_ring = false;  // the focus came by the keyboard
};

class Rail : public Bar {
    Q_OBJECT

public:
    explicit Rail(QWidget* parent = nullptr);

    void addPage(const QString& icon, const QString& name);  // numbered in this order from 0
    void setCurrent(int page);

signals:
    void pageChosen(int page);

private:
    QVBoxLayout* m_column;
    QButtonGroup* m_pages;
};

}  // namespace tokenscope::ui
