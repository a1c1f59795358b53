// A card of the scope: title, what it is about, one big number with its unit, the picture, and the same values as a
// table. A chart is one opaque element to a screen reader, so the summary in words is the card's accessible
// description.
#pragma once

#include "ui/widgets/card.h"

#include <QString>
#include <QStringList>

#include <functional>
#include <vector>

class QAbstractTableModel;
class QStackedLayout;
class QTableView;

namespace tokenscope::ui {

class PillButton;
class ScopeHeader;
class ScopeTableModel;

class ScopeCard : public Card {
    Q_OBJECT

public:
    // `definition` is shown when the mouse rests on the title or the number.
    ScopeCard(const QString& title, const QString& definition, QWidget* picture, QWidget* parent = nullptr);

    // The first of these that fits is shown, the last one cut if need be.
    void setSubtitle(const QStringList& longestFirst);
    void setValue(const QString& value, const QString& unit);  // "" = no number yet
    // One or two sentences with the current numbers; told to screen readers at most once a second by the caller.
    void setSummary(const QString& summary);
    QString summary() const { return m_summary; }
    void setTable(const QStringList& columns, std::vector<QStringList> rows);
    // A long one, see ScopeTableModel::setLive.
    void setLiveTable(const QStringList& columns, int rows, std::function<QString(int row, int column)> cell,
                      bool extends);
    void showTable(bool table);
    bool tableShown() const;
    QAbstractTableModel* tableModel() const;

private:
    void copyTable();

    ScopeHeader* m_header;
    QStackedLayout* m_pages;
    QTableView* m_table;
    ScopeTableModel* m_model;
    PillButton* m_tableButton;
    QString m_summary;
};

}  // namespace tokenscope::ui
