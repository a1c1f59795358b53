#include "ui/widgets/scope_tabs.h"

#include "ui/widgets/pill_button.h"

#include <QButtonGroup>
#include <QHBoxLayout>

namespace tokenscope::ui {

ScopeTabs::ScopeTabs(QWidget* parent) : QWidget(parent), m_tabs(new QButtonGroup(this))
{
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(12, 8, 12, 4);
    row->setSpacing(6);
    int tab = 0;
    for (const QString& name : {tr("Chat"), tr("Scope")}) {
        auto* button = new PillButton(PillButton::Kind::Secondary, name, this);
        button->setCheckable(true);
        button->setChecked(tab == 0);
        m_tabs->addButton(button, tab++);
        row->addWidget(button);
    }
    row->addStretch(1);
    connect(m_tabs, &QButtonGroup::idClicked, this, &ScopeTabs::chosen);
}

int ScopeTabs::current() const
{
    return m_tabs->checkedId();
}

void ScopeTabs::setCurrent(int tab)
{
    m_tabs->button(tab)->setChecked(true);
    emit chosen(tab);
}

}  // namespace tokenscope::ui
