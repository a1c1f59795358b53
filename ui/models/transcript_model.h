// The visible branch of a conversation, root first: one row a message, as plain values ready to be drawn.
#pragma once

#include "engine/types/events.h"
#include "engine/types/metrics.h"
#include "ui/models/token_ranges.h"

#include <QAbstractTableModel>
#include <QString>
#include <QStringList>

#include <cstdint>
#include <optional>
#include <vector>

namespace tokenscope::ui {

enum class MessageLook { Complete, Streaming, Stopped, Failed };

struct TranscriptItem {
    std::int64_t id = 0;
    bool fromUser = false;
    QString text;  // the source: Markdown of answers, plain text of users
    MessageLook look = MessageLook::Complete;
    QString errorText;   // with Failed
    QString statusText;  // while nothing can be shown yet: "Reading the prompt: 128 of 512 tokens"
    QString modelName;
    std::optional<RequestMetrics> metrics;
    std::optional<StopReason> stopReason;
    QStringList notices;
    TokenRanges tokens;  // of answers whose trace is known
    int siblingIndex = 0;
    int siblingCount = 1;
};

class TranscriptModel : public QAbstractTableModel {
    Q_OBJECT

public:
    enum Role { IdRole = Qt::UserRole };

    explicit TranscriptModel(QObject* parent = nullptr);

    void setItems(std::vector<TranscriptItem> items);  // another conversation or branch
    void updateItem(TranscriptItem item);              // of the same id; nothing happens if there is none

    const TranscriptItem& item(int row) const { return m_items[static_cast<std::size_t>(row)]; }
    std::optional<int> rowOf(std::int64_t id) const;

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;

private:
    std::vector<TranscriptItem> m_items;
};

}  // namespace tokenscope::ui
