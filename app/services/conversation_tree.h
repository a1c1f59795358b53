// One conversation in memory: its messages as a tree, and which branch is shown. Not thread-safe.
#pragma once

#include "app/services/chat_service.h"

#include <map>
#include <optional>
#include <vector>

namespace tokenscope {

class ConversationTree {
public:
    // Rows in any order. A message whose parent is missing becomes a first message; one left in Streaming (the program
    // ended while it was written) is shown as stopped.
    ConversationTree(ConversationRow row, std::vector<MessageRow> messages);

    ConversationRow row;

    ChatNode* find(MessageId id);
    const ChatNode* find(MessageId id) const;
    ChatNode& add(MessageRow message);  // and shows it
    bool isEmpty() const { return m_nodes.empty(); }

    std::vector<MessageId> path() const;  // visible, root first
    std::optional<MessageId> leaf() const;
    SiblingPosition siblings(MessageId id) const;
    bool selectSibling(MessageId id, int index);  // false: nothing changed
    void show(MessageId id);                      // its branch, down to where that was left last
    bool hasChildren(MessageId id) const;

    std::vector<const MessageRow*> messages() const;  // oldest first
    template <typename F>
    void forEach(F&& visit)
    {
        for (auto& [id, node] : m_nodes)
            visit(node);
    }

private:
    static constexpr MessageId kRoot = 0;  // key of the messages without a parent

    MessageId parentKey(const ChatNode& node) const;

    std::map<MessageId, ChatNode> m_nodes;  // by id, which is by time; addresses stay
    std::map<MessageId, std::vector<MessageId>> m_children;
    std::map<MessageId, MessageId> m_shownChild;  // where not the newest
};

}  // namespace tokenscope
