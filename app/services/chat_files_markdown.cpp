#include "app/services/chat_files.h"

#include "storage/storage.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace tokenscope {
namespace {

constexpr std::string_view kMark = "<!-- tokenscope ";
constexpr std::size_t kMostBytes = 64u << 20;

struct HeadingRole {
    std::string_view heading;  // in small letters
    std::string_view role;
};
// Of files by other programs and people.
constexpr std::array<HeadingRole, 9> kHeadings{{{"user", "user"},
                                                {"you", "user"},
                                                {"human", "user"},
                                                {"prompt", "user"},
                                                {"assistant", "assistant"},
                                                {"answer", "assistant"},
                                                {"model", "assistant"},
                                                {"response", "assistant"},
                                                {"system", "system"}}};

// A line of a message that looks like a mark is written with a backslash in it, so that no text can forge one.
void appendEscaped(std::string& out, std::string_view text)
{
    std::size_t begin = 0;
    while (begin <= text.size()) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        std::string_view line = text.substr(begin, end - begin);
        // Backslashes already there get one more, so that taking one away is exact.
        std::size_t at = line.starts_with("<!-- ") ? 5 : std::string_view::npos;
        if (at != std::string_view::npos) {
            const std::size_t word = line.find_first_not_of('\\', at);
            if (word != std::string_view::npos && line.substr(word).starts_with("tokenscope ")) {
                out += "<!-- \\";
                line = line.substr(at);
            }
        }
        out += line;
        if (end < text.size())
            out += '\n';
        begin = end + 1;
    }
}

std::string unescapedLine(std::string_view line)
{
    if (line.starts_with("<!-- \\")) {
        const std::size_t word = line.find_first_not_of('\\', 5);
        if (word != std::string_view::npos && line.substr(word).starts_with("tokenscope "))
            return "<!-- " + std::string(line.substr(6));
    }
    return std::string(line);
}

void appendMessage(std::string& out, std::string_view role, std::string_view heading, std::string_view text)
{
    out += fmt::format("{}{} -->\n## {}\n\n", kMark, role, heading);
    appendEscaped(out, text);
    out += "\n\n";
}

// "user" of "<!-- tokenscope user -->"
std::optional<std::string> roleOfMark(std::string_view line)
{
    if (!line.starts_with(kMark))
        return std::nullopt;
    line.remove_prefix(kMark.size());
    return std::string(line.substr(0, line.find(' ')));
}

std::optional<std::string> roleOfHeading(std::string_view line)
{
    const std::size_t hashes = std::min(line.find_first_not_of('#'), line.size());
    if (hashes < 1 || hashes > 4 || hashes == line.size() || line[hashes] != ' ')
        return std::nullopt;
    std::string word;
    for (char c : line.substr(hashes)) {
        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
            word += static_cast<char>(c | 0x20);
        else if (c != ' ' && c != '*' && c != ':' && c != '\r')
            return std::nullopt;
    }
    for (const HeadingRole& known : kHeadings) {
        if (known.heading == word)
            return std::string(known.role);
    }
    return std::nullopt;
}

// Exactly what appendMessage put around the text; files by others have any number of blank lines.
std::string withoutFrame(std::string text, bool ours)
{
    if (ours) {
        if (text.ends_with("\n\n"))
            text.resize(text.size() - 2);
        return text;
    }
    const auto first = text.find_first_not_of(" \t\r\n");
    if (first == std::string::npos)
        return {};
    return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

struct Section {
    std::string role;
    std::string text;
};

class MarkdownReader {
public:
    explicit MarkdownReader(bool ours) : m_ours(ours) {}

    void line(std::string_view line)
    {
        if (m_skip > 0) {  // the heading after a mark and the empty line after it
            --m_skip;
            return;
        }
        const auto role = m_ours ? roleOfMark(line) : roleOfHeading(line);
        if (role) {
            finish();
            m_section = Section{*role, {}};
            m_skip = m_ours ? 2 : 0;
        } else if (m_section) {
            m_section->text += m_ours ? unescapedLine(line) : std::string(line);
            m_section->text += '\n';
        } else if (line.starts_with("# ") && title.empty()) {
            title = line.substr(2);
        }
    }
    void finish()
    {
        if (!m_section)
            return;
        m_section->text = withoutFrame(std::move(m_section->text), m_ours);
        sections.push_back(std::move(*m_section));
        m_section.reset();
    }

    std::string title;
    std::vector<Section> sections;

private:
    const bool m_ours;
    int m_skip = 0;
    std::optional<Section> m_section;
};

tl::unexpected<Error> bad(std::string what)
{
    return fail(ErrorCode::BadInput, "this is not a conversation that can be imported: " + std::move(what));
}

}  // namespace

std::string conversationToMarkdown(const ConversationRow& row, const std::vector<const MessageRow*>& branch)
{
    std::string title = row.title.empty() ? "Conversation" : row.title;
    std::replace(title.begin(), title.end(), '\n', ' ');
    std::string out = fmt::format("# {}\n\n", title);
    if (!row.systemPrompt.empty())
        appendMessage(out, "system", "System", row.systemPrompt);
    for (const MessageRow* message : branch) {
        const bool isAnswer = message->role == "assistant";
        std::string heading = isAnswer ? "Assistant" : "User";
        if (isAnswer && !message->modelName.empty())
            heading += fmt::format(" ({})", message->modelName);
        std::replace(heading.begin(), heading.end(), '\n', ' ');
        appendMessage(out, message->role, heading, message->text);
    }
    return out;
}

Result<ConversationFile> conversationFromMarkdown(std::string_view text, std::int64_t nowMs)
{
    if (text.size() > kMostBytes)
        return bad(fmt::format("it has {} bytes, the limit is {}", text.size(), kMostBytes));
    const bool ours = text.starts_with(kMark) || text.find("\n" + std::string(kMark)) != std::string_view::npos;

    MarkdownReader reader(ours);
    std::size_t begin = 0;
    while (begin < text.size()) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        reader.line(text.substr(begin, end - begin));
        begin = end + 1;
    }
    reader.finish();
    if (reader.sections.empty())
        return bad("it has no heading like \"## User\" or \"## Assistant\"");

    ConversationFile file;
    file.row = {.id = drawId(), .title = reader.title, .createdMs = nowMs, .updatedMs = nowMs};
    for (Section& section : reader.sections) {
        if (section.role == "system" && file.messages.empty()) {
            file.row.systemPrompt = std::move(section.text);
            continue;
        }
        if (section.role != "user" && section.role != "assistant")
            return bad(fmt::format("message {} has the role \"{}\", expected user or assistant",
                                   file.messages.size() + 1, section.role.substr(0, 40)));
        const auto parent = file.messages.empty() ? std::nullopt : std::optional<MessageId>(file.messages.back().id);
        file.messages.push_back({.id = drawId(),
                                 .conversation = file.row.id,
                                 .parent = parent,
                                 .role = std::move(section.role),
                                 .text = std::move(section.text),
                                 .createdMs = nowMs});
    }
    if (!file.messages.empty())
        file.row.activeLeaf = file.messages.back().id;
    return file;
}

}  // namespace tokenscope
