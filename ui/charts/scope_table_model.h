// The table twin of a chart: columns and rows of text, replaced as a whole.
#pragma once

#include <QAbstractTableModel>
#include <QStringList>

#include <vector>

namespace tokenscope::ui {

class ScopeTableModel : public QAbstractTableModel {
    Q_OBJECT

public:
    using QAbstractTableModel::QAbstractTableModel;

    void set(const QStringList& columns, std::vector<QStringList> rows);
    QString asText() const;  // tab-separated, with the column names

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    QStringList m_columns;
    std::vector<QStringList> m_rows;
};

}  // namespace tokenscope::ui
