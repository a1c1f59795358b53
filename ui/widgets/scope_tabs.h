// Two names of which one is chosen: what a narrow window shows in the middle, chat or scope.
#pragma once

#include <QWidget>

class QButtonGroup;

namespace tokenscope::ui {

class ScopeTabs : public QWidget {
    Q_OBJECT

public:
    explicit ScopeTabs(QWidget* parent = nullptr);

    int current() const;
    void setCurrent(int tab);

signals:
    void chosen(int tab);

private:
    QButtonGroup* m_tabs;
};

}  // namespace tokenscope::ui
