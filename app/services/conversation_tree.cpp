#include "app/services/conversation_tree.h"

#include <algorithm>
#include <utility>

namespace tokenscope {

ConversationTree::ConversationTree(ConversationRow conversation, std::vector<MessageRow> messages)
    : row(std::move(conversation))
{
    for (MessageRow& message : messages) {
        if (message.state == MessageState::Streaming)
            message.state = MessageState::Stopped;
        const MessageId id = message.id;
        m_nodes.emplace(id, ChatNode{.row = std::move(message)});
    }
    for (auto& [id, node] : m_nodes) {
        if (node.row.parent && !m_nodes.contains(*node.row.parent))
            node.row.parent.reset();
        m_children[parentKey(node)].push_back(id);
    }
    if (row.activeLeaf)
        show(*row.activeLeaf);
}

MessageId ConversationTree::parentKey(const ChatNode& node) const
{
    return node.row.parent.value_or(kRoot);
}

ChatNode* ConversationTree::find(MessageId id)
{
    const auto found = m_nodes.find(id);
    return found == m_nodes.end() ? nullptr : &found->second;
}

const ChatNode* ConversationTree::find(MessageId id) const
{
    return const_cast<ConversationTree*>(this)->find(id);
}

ChatNode& ConversationTree::add(MessageRow message)
{
    const MessageId id = message.id;
    ChatNode& node = m_nodes.emplace(id, ChatNode{.row = std::move(message)}).first->second;
    m_children[parentKey(node)].push_back(id);
    show(id);
    return node;
}

std::vector<MessageId> ConversationTree::path() const
{
    std::vector<MessageId> path;
    MessageId at = kRoot;
    for (;;) {
        const auto children = m_children.find(at);
        if (children == m_children.end() || path.size() == m_nodes.size())
            return path;
        const auto shown = m_shownChild.find(at);
        at = shown == m_shownChild.end() ? children->second.back() : shown->second;
        path.push_back(at);
    }
}

std::optional<MessageId> ConversationTree::leaf() const
{
    const auto visible = path();
    return visible.empty() ? std::nullopt : std::optional(visible.back());
}

SiblingPosition ConversationTree::siblings(MessageId id) const
{
    const ChatNode* node = find(id);
    if (!node)
        return {};
    const auto& all = m_children.at(parentKey(*node));
    return {static_cast<int>(std::find(all.begin(), all.end(), id) - all.begin()), static_cast<int>(all.size())};
}

bool ConversationTree::selectSibling(MessageId id, int index)
{
    const ChatNode* node = find(id);
    if (!node)
        return false;
    const auto& all = m_children.at(parentKey(*node));
    if (index < 0 || index >= static_cast<int>(all.size()) || all[static_cast<std::size_t>(index)] == id)
        return false;
    show(all[static_cast<std::size_t>(index)]);
    return true;
}

void ConversationTree::show(MessageId id)
{
    // At most one step a message: rows of a damaged file could point in a circle.
    const ChatNode* node = find(id);
    for (std::size_t steps = 0; node && steps < m_nodes.size(); ++steps) {
        m_shownChild[parentKey(*node)] = node->row.id;
        node = node->row.parent ? find(*node->row.parent) : nullptr;
    }
    row.activeLeaf = leaf();
}

bool ConversationTree::hasChildren(MessageId id) const
{
    return m_children.contains(id);
}

std::vector<const MessageRow*> ConversationTree::messages() const
{
    std::vector<const MessageRow*> rows;
    rows.reserve(m_nodes.size());
    for (const auto& [id, node] : m_nodes)
        rows.push_back(&node.row);
    return rows;
}

}  // namespace tokenscope
