#include "ui/charts/scope_table_model.h"

#include <utility>

namespace tokenscope::ui {

void ScopeTableModel::set(const QStringList& columns, std::vector<QStringList> rows)
{
    if (columns == m_columns && rows == m_written)
        return;
    beginResetModel();
    m_columns = columns;
    m_written = std::move(rows);
    m_rows = static_cast<int>(m_written.size());
    m_cell = [this](int row, int column) { return m_written[static_cast<std::size_t>(row)].value(column); };
    endResetModel();
}

void ScopeTableModel::setLive(const QStringList& columns, int rows, Cell cell, bool extends)
{
    if (extends && columns == m_columns && rows >= m_rows) {
        if (rows > m_rows)
            beginInsertRows({}, m_rows, rows - 1);
        m_cell = std::move(cell);
        if (rows > std::exchange(m_rows, rows))
            endInsertRows();
        return;
    }
    beginResetModel();
    m_columns = columns;
    m_cell = std::move(cell);
    m_rows = rows;
    endResetModel();
}

QString ScopeTableModel::asText() const
{
    QString text = m_columns.join(u'\t');
    for (int row = 0; row < m_rows; ++row)
        for (int column = 0; column < m_columns.size(); ++column)
            text += (column == 0 ? u'\n' : u'\t') + m_cell(row, column);
    return text;
}

int ScopeTableModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : m_rows;
}

int ScopeTableModel::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_columns.size());
}

QVariant ScopeTableModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid())
        return {};
    if (role == Qt::DisplayRole)
        return m_cell(index.row(), index.column());
    if (role == Qt::TextAlignmentRole && index.column() > 0)
        return QVariant::fromValue(Qt::Alignment(Qt::AlignRight | Qt::AlignVCenter));
    return {};
}

QVariant ScopeTableModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (role != Qt::DisplayRole || orientation != Qt::Horizontal)
        return {};
    return m_columns.value(section);
}

}  // namespace tokenscope::ui
