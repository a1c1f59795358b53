#include "ui/charts/scope_table_model.h"

namespace tokenscope::ui {

void ScopeTableModel::set(const QStringList& columns, std::vector<QStringList> rows)
{
    if (columns == m_columns && rows == m_rows)
        return;
    beginResetModel();
    m_columns = columns;
    m_rows = std::move(rows);
    endResetModel();
}

QString ScopeTableModel::asText() const
{
    QString text = m_columns.join(u'\t');
    for (const QStringList& row : m_rows)
        text += u'\n' + row.join(u'\t');
    return text;
}

int ScopeTableModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
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
        return m_rows[static_cast<std::size_t>(index.row())].value(index.column());
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
