#include "app/services/chat_prompt.h"

#include <algorithm>

namespace tokenscope {
namespace {

bool isBlank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool isUnanswered(const MessageRow& message)
{
    return message.role == "assistant" && message.text.empty();
}

}  // namespace

std::vector<ChatMessage> messagesForModel(std::string_view systemPrompt, const std::vector<const MessageRow*>& branch)
{
    std::vector<ChatMessage> messages;
    if (!systemPrompt.empty())
        messages.push_back({"system", std::string(systemPrompt)});
    for (std::size_t i = 0; i < branch.size(); ++i) {
        const MessageRow& message = *branch[i];
        if (isUnanswered(message) || (i + 1 < branch.size() && message.role == "user" && isUnanswered(*branch[i + 1])))
            continue;
        if (!messages.empty() && messages.back().role == message.role)
            messages.back().content += "\n\n" + message.text;
        else
            messages.push_back({message.role, message.text});
    }
    return messages;
}

std::string plainPrompt(const std::vector<ChatMessage>& messages)
{
    std::string text;
    for (const ChatMessage& message : messages) {
        if (message.role == "user" && !text.empty())
            text += "\n\n";
        text += message.content;
    }
    return text;
}

std::variant<TextPrompt, ChatPrompt, IdsPrompt, ScorePrompt>
promptFor(std::string_view systemPrompt, const std::vector<const MessageRow*>& branch, bool hasTemplate)
{
    auto messages = messagesForModel(systemPrompt, branch);
    if (!hasTemplate)
        return TextPrompt{.text = plainPrompt(messages)};
    const bool continueLast = !messages.empty() && messages.back().role == "assistant";
    return ChatPrompt{.messages = std::move(messages), .continueLast = continueLast};
}

std::string titleFrom(std::string_view userText)
{
    constexpr std::size_t kMostBytes = 48;  // about what fits into the list at its usual width
    constexpr int kMostWords = 8;
    std::string title;
    int words = 0;
    std::size_t at = 0;
    while (words < kMostWords) {
        while (at < userText.size() && isBlank(userText[at]) && (title.empty() || userText[at] != '\n'))
            ++at;
        if (at == userText.size() || userText[at] == '\n')
            break;
        std::size_t end = at;
        while (end < userText.size() && !isBlank(userText[end]))
            ++end;
        std::string_view word = userText.substr(at, end - at);
        if (!title.empty() && title.size() + 1 + word.size() > kMostBytes)
            break;
        if (word.size() > kMostBytes) {  // languages without spaces: cut between characters
            std::size_t cut = kMostBytes;
            while (cut > 0 && (static_cast<unsigned char>(word[cut]) & 0xc0) == 0x80)
                --cut;
            word = word.substr(0, cut);
        }
        title += (title.empty() ? "" : " ") + std::string(word);
        at = end;
        ++words;
    }
    return title;
}

}  // namespace tokenscope
