// The list of conversations with its search and "New chat"; renaming in place, removal by key or menu.
#pragma once

#include "ui/models/conversation_model.h"

#include <QListView>
#include <QWidget>

namespace tokenscope::ui {

class PillButton;
class SearchField;
class TextLabel;

class ConversationList : public QListView {
    Q_OBJECT

public:
    explicit ConversationList(QWidget* parent = nullptr);

signals:
    void openPressed(const QModelIndex& index);
    void removePressed(const QModelIndex& index);

protected:
    void keyPressEvent(QKeyEvent* event) override;
    void changeEvent(QEvent* event) override;
};

class ConversationPane : public QWidget {
    Q_OBJECT

public:
    explicit ConversationPane(ConversationModel& model, QWidget* parent = nullptr);

    void setCurrent(std::optional<ConversationId> id);
    void renameCurrent();
    std::optional<ConversationId> current() const;
    ConversationList* list() { return m_list; }
    SearchField* searchField() { return m_search; }

signals:
    void newRequested();
    void opened(tokenscope::ConversationId id);
    void removeRequested(tokenscope::ConversationId id);
    void searchChanged(const QString& text);
    void menuRequested(tokenscope::ConversationId id, const QPoint& globalPosition);

private:
    void showEmpty();

    ConversationModel& m_model;
    SearchField* m_search;
    ConversationList* m_list;
    TextLabel* m_empty;
};

}  // namespace tokenscope::ui
