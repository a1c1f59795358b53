// The list of conversations, newest first, as ChatService tells it; rows stay where they are while titles change.
#pragma once

#include "app/services/chat_service.h"

#include <QAbstractListModel>

#include <optional>
#include <vector>

namespace tokenscope::ui {

class ConversationModel : public QAbstractListModel {
    Q_OBJECT

public:
    enum Role { TimeRole = Qt::UserRole, IdRole };

    explicit ConversationModel(QObject* parent = nullptr);

    void setRows(std::vector<ConversationRow> rows);
    std::optional<int> rowOf(ConversationId id) const;
    ConversationId idAt(int row) const { return m_rows[static_cast<std::size_t>(row)].id; }

    int rowCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    bool setData(const QModelIndex& index, const QVariant& value, int role) override;
    Qt::ItemFlags flags(const QModelIndex& index) const override;

signals:
    void renamed(tokenscope::ConversationId id, const QString& title);

private:
    std::vector<ConversationRow> m_rows;
};

}  // namespace tokenscope::ui
