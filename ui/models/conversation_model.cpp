#include "ui/models/conversation_model.h"

#include <algorithm>

namespace tokenscope::ui {

ConversationModel::ConversationModel(QObject* parent) : QAbstractListModel(parent) {}

void ConversationModel::setRows(std::vector<ConversationRow> rows)
{
    const bool sameOrder = std::equal(rows.begin(), rows.end(), m_rows.begin(), m_rows.end(),
                                      [](const ConversationRow& a, const ConversationRow& b) { return a.id == b.id; });
    if (sameOrder) {
        m_rows = std::move(rows);
        if (!m_rows.empty())
            emit dataChanged(index(0), index(static_cast<int>(m_rows.size()) - 1));
        return;
    }
    beginResetModel();
    m_rows = std::move(rows);
    endResetModel();
}

std::optional<int> ConversationModel::rowOf(ConversationId id) const
{
    for (std::size_t row = 0; row < m_rows.size(); ++row)
        if (m_rows[row].id == id)
            return static_cast<int>(row);
    return std::nullopt;
}

int ConversationModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

QVariant ConversationModel::data(const QModelIndex& index, int role) const
{
    if (!checkIndex(index, CheckIndexOption::IndexIsValid))
        return {};
    const ConversationRow& row = m_rows[static_cast<std::size_t>(index.row())];
    switch (role) {
    case Qt::DisplayRole:
        return row.title.empty() ? tr("New chat") : QString::fromStdString(row.title);
    case Qt::ToolTipRole:
    case Qt::EditRole:
        return QString::fromStdString(row.title);
    case TimeRole:
        return QVariant::fromValue<qint64>(row.updatedMs);
    case IdRole:
        return QVariant::fromValue<qint64>(row.id);
    default:
        return {};
    }
}

bool ConversationModel::setData(const QModelIndex& index, const QVariant& value, int role)
{
    const QString title = value.toString().simplified();
    if (role != Qt::EditRole || !checkIndex(index, CheckIndexOption::IndexIsValid) || title.isEmpty())
        return false;
    ConversationRow& row = m_rows[static_cast<std::size_t>(index.row())];
    row.title = title.toStdString();
    emit dataChanged(index, index);
    emit renamed(row.id, title);
    return true;
}

Qt::ItemFlags ConversationModel::flags(const QModelIndex& index) const
{
    return index.isValid() ? Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemIsEditable : Qt::NoItemFlags;
}

}  // namespace tokenscope::ui
