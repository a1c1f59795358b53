#include "ui/charts/scope_card.h"

#include "ui/charts/scope_table_model.h"
#include "ui/theme/fonts.h"
#include "ui/theme/metrics.h"
#include "ui/theme/palette.h"
#include "ui/widgets/pill_button.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QFontMetricsF>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QPainter>
#include <QStackedLayout>
#include <QTableView>
#include <QVBoxLayout>

#include <algorithm>

namespace tokenscope::ui {

// Title and subtitle on the left, number and unit on the right. Painted, so that digits have fixed places and nothing
// moves while they change.
class ScopeHeader : public QWidget {
public:
    explicit ScopeHeader(const QString& title, QWidget* parent) : QWidget(parent), m_title(title)
    {
        setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    }

    QStringList subtitles;
    QString value, unit;

    QSize sizeHint() const override { return {120, scaled(26)}; }
    QSize minimumSizeHint() const override { return {80, scaled(26)}; }

protected:
    void paintEvent(QPaintEvent*) override
    {
        QPainter painter(this);
        const Palette& colors = colorsOf(this);
        const QFont big = roleFont(FontRole::Big), small = roleFont(FontRole::Small);
        const QFont strong = roleFont(FontRole::BodyStrong);
        const double baseline = height() * 0.72;
        double right = width();
        if (!value.isEmpty()) {
            const double unitWidth = QFontMetricsF(small).horizontalAdvance(unit);
            painter.setFont(small);
            painter.setPen(colors.dim);
            painter.drawText(QPointF(right - unitWidth, baseline), unit);
            right -= unitWidth + 3 + tabularWidth(big, value);
            painter.setFont(big);
            painter.setPen(colors.text);
            drawTabular(painter, QPointF(right, baseline), value);
            right -= kSpace2;
        }
        painter.setFont(strong);
        painter.setPen(colors.text);
        painter.drawText(QPointF(0, baseline), m_title);
        const double left = QFontMetricsF(strong).horizontalAdvance(m_title) + kSpace2;
        if (subtitles.isEmpty())
            return;
        const QFontMetricsF metrics(small);
        const double room = std::max(0.0, right - left);
        auto shown = std::find_if(subtitles.cbegin(), subtitles.cend() - 1,
                                  [&](const QString& text) { return metrics.horizontalAdvance(text) <= room; });
        painter.setFont(small);
        painter.setPen(colors.dim);
        painter.drawText(QPointF(left, baseline), metrics.elidedText(*shown, Qt::ElideRight, room));
    }

private:
    QString m_title;
};

ScopeCard::ScopeCard(const QString& title, const QString& definition, QWidget* picture, QWidget* parent)
    : Card(parent), m_header(new ScopeHeader(title, this)), m_pages(new QStackedLayout), m_table(new QTableView),
      m_model(new ScopeTableModel(this)),
      m_tableButton(PillButton::icon(QStringLiteral("table"), tr("%1 as a table").arg(title), this))
{
    m_header->setToolTip(definition);
    m_tableButton->setCheckable(true);
    connect(m_tableButton, &QAbstractButton::toggled, this, &ScopeCard::showTable);

    m_table->setModel(m_model);
    m_table->setAccessibleName(tr("%1, values").arg(title));
    m_table->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Ignored);  // the picture decides the card's height
    m_table->setFrameShape(QFrame::NoFrame);
    m_table->setShowGrid(false);
    m_table->verticalHeader()->hide();
    m_table->verticalHeader()->setDefaultSectionSize(scaled(20));
    m_table->horizontalHeader()->setStretchLastSection(true);
    m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_table->setEditTriggers(QAbstractItemView::NoEditTriggers);
    auto* copy = new QAction(tr("Copy table"), m_table);
    copy->setShortcut(QKeySequence::Copy);
    copy->setShortcutContext(Qt::WidgetShortcut);
    connect(copy, &QAction::triggered, this, &ScopeCard::copyTable);
    m_table->addAction(copy);
    m_table->setContextMenuPolicy(Qt::ActionsContextMenu);

    auto* top = new QHBoxLayout;
    top->setContentsMargins(0, 0, 0, 0);
    top->setSpacing(kSpace1);
    top->addWidget(m_header, 1);
    top->addWidget(m_tableButton);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(kSpace3, kSpace2, kSpace3, kSpace2);
    column->setSpacing(2);
    column->addLayout(top);
    column->addLayout(m_pages, 1);
    // After the layout has a parent: a page without one would flash up as a window of its own.
    m_pages->addWidget(picture);
    m_pages->addWidget(m_table);
    setAccessibleName(title);
    setSizePolicy(QSizePolicy::Preferred, picture->sizePolicy().verticalPolicy());
}

void ScopeCard::setSubtitle(const QStringList& longestFirst)
{
    if (m_header->subtitles == longestFirst)
        return;
    m_header->subtitles = longestFirst;
    m_header->update();
}

void ScopeCard::setValue(const QString& value, const QString& unit)
{
    if (m_header->value == value && m_header->unit == unit)
        return;
    m_header->value = value;
    m_header->unit = unit;
    m_header->update();
}

void ScopeCard::setSummary(const QString& summary)
{
    if (m_summary == summary)
        return;
    m_summary = summary;
    setAccessibleDescription(summary);
    m_pages->widget(0)->setAccessibleName(accessibleName());
    m_pages->widget(0)->setAccessibleDescription(summary);
}

void ScopeCard::setTable(const QStringList& columns, std::vector<QStringList> rows)
{
    m_model->set(columns, std::move(rows));
}

void ScopeCard::setLiveTable(const QStringList& columns, int rows, std::function<QString(int, int)> cell, bool extends)
{
    m_model->setLive(columns, rows, std::move(cell), extends);
}

void ScopeCard::showTable(bool table)
{
    m_pages->setCurrentIndex(table ? 1 : 0);
    m_tableButton->setChecked(table);
}

bool ScopeCard::tableShown() const
{
    return m_pages->currentIndex() == 1;
}

QAbstractTableModel* ScopeCard::tableModel() const
{
    return m_model;
}

void ScopeCard::copyTable()
{
    QApplication::clipboard()->setText(m_model->asText());
}

}  // namespace tokenscope::ui
