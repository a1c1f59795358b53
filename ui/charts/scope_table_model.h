// The table twin of a chart: columns and rows of text. Long tables are not written out: a cell is asked for when it is
// looked at, because an answer of some thousand tokens would cost 30 ms of text at every refresh.
#pragma once

#include <QAbstractTableModel>
#include <QStringList>

#include <functional>
#include <vector>

namespace tokenscope::ui {

class ScopeTableModel : public QAbstractTableModel {
    Q_OBJECT

public:
    using QAbstractTableModel::QAbstractTableModel;

    using Cell = std::function<QString(int row, int column)>;

    void set(const QStringList& columns, std::vector<QStringList> rows);
    // `cell` owns what it reads from. `extends`: the rows so far are still the first ones, so that who reads them keeps
    // the place and the selection.
    void setLive(const QStringList& columns, int rows, Cell cell, bool extends);
    QString asText() const;  // tab-separated, with the column names

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    QStringList m_columns;
    std::vector<QStringList> m_written;
    Cell m_cell;
    int m_rows = 0;
};

}  // namespace tokenscope::ui
