#include "ui/models/transcript_model.h"

#include <algorithm>

namespace tokenscope::ui {

TranscriptModel::TranscriptModel(QObject* parent) : QAbstractTableModel(parent) {}

void TranscriptModel::setItems(std::vector<TranscriptItem> items)
{
    // A message added at the end (or several) leaves the rows before it where they are: heights and scroll stay.
    const bool extends = items.size() >= m_items.size() && !m_items.empty() &&
                         std::equal(m_items.begin(), m_items.end(), items.begin(),
                                    [](const TranscriptItem& a, const TranscriptItem& b) { return a.id == b.id; });
    if (extends) {
        const int known = static_cast<int>(m_items.size());
        const int all = static_cast<int>(items.size());
        std::move(items.begin(), items.begin() + known, m_items.begin());
        emit dataChanged(index(0, 0), index(known - 1, 0));
        if (all > known) {
            beginInsertRows({}, known, all - 1);
            std::move(items.begin() + known, items.end(), std::back_inserter(m_items));
            endInsertRows();
        }
        return;
    }
    beginResetModel();
    m_items = std::move(items);
    endResetModel();
}

void TranscriptModel::updateItem(TranscriptItem item)
{
    const std::optional<int> row = rowOf(item.id);
    if (!row)
        return;
    m_items[static_cast<std::size_t>(*row)] = std::move(item);
    emit dataChanged(index(*row, 0), index(*row, 0));
}

std::optional<int> TranscriptModel::rowOf(std::int64_t id) const
{
    // From the end: the message that is asked for is nearly always the one being written.
    for (std::size_t row = m_items.size(); row-- > 0;)
        if (m_items[row].id == id)
            return static_cast<int>(row);
    return std::nullopt;
}

int TranscriptModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_items.size());
}

int TranscriptModel::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : 1;
}

QVariant TranscriptModel::data(const QModelIndex& index, int role) const
{
    if (!checkIndex(index, CheckIndexOption::IndexIsValid))
        return {};
    const TranscriptItem& message = item(index.row());
    switch (role) {
    case Qt::DisplayRole:
        return message.text;
    case Qt::AccessibleTextRole: {
        const QString who = message.fromUser ? tr("You: %1") : tr("Answer: %1");
        return who.arg(message.look == MessageLook::Failed ? message.errorText : message.text);
    }
    case IdRole:
        return QVariant::fromValue<qint64>(message.id);
    default:
        return {};
    }
}

}  // namespace tokenscope::ui
