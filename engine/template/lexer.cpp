#include "engine/template/lexer.h"

#include "engine/base/utf8.h"
#include "engine/template/unicode.h"
#include "engine/template/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace tokenscope::jinja {
namespace {

std::string withUnixNewlines(std::string_view source)
{
    std::string text;
    text.reserve(source.size());
    for (std::size_t i = 0; i < source.size(); ++i) {
        if (source[i] != '\r')
            text += source[i];
        else if (i + 1 == source.size() || source[i + 1] != '\n')
            text += '\n';
    }
    if (text.ends_with('\n'))
        text.pop_back();
    return text;
}

class Lexer {
public:
    explicit Lexer(std::string_view source) : m_source(withUnixNewlines(source)) {}

    std::vector<Token> run()
    {
        while (m_at < m_source.size())
            readTextAndTag();
        push(TokenKind::End, "");
        return std::move(m_tokens);
    }

private:
    [[noreturn]] void error(const std::string& message) const { throw TemplateError{message, m_line}; }
    std::string_view rest() const { return std::string_view(m_source).substr(m_at); }
    void push(TokenKind kind, std::string text) { m_tokens.push_back({kind, std::move(text), m_line}); }

    void advance(std::size_t bytes)
    {
        m_line += static_cast<int>(std::count(m_source.begin() + static_cast<std::ptrdiff_t>(m_at),
                                              m_source.begin() + static_cast<std::ptrdiff_t>(m_at + bytes), '\n'));
        m_at += bytes;
        if (bytes > 0)
            m_lineStarts = m_source[m_at - 1] == '\n';
    }

    void skipSpace()
    {
        std::size_t bytes = 0;
        while (m_at + bytes < m_source.size()) {
            const Utf8Step step = nextUtf8(m_source, m_at + bytes);
            if (!isSpace(step.codePoint))
                break;
            bytes += step.bytes;
        }
        advance(bytes);
    }

    // Text before a tag: "-" takes all its white space, lstrip_blocks what stands between a line's beginning and a
    // block or comment.
    void pushText(std::string_view text, char sign, bool isVariable)
    {
        std::size_t end = text.size();
        if (sign == '-') {
            end = stripped(text, false, true).end;
        } else if (sign != '+' && !isVariable) {
            const std::size_t newline = text.rfind('\n');
            const std::size_t lineBegin = newline == std::string_view::npos ? 0 : newline + 1;
            const std::string_view indent = text.substr(lineBegin);
            if ((lineBegin > 0 || m_lineStarts) && stripped(indent, true, false).begin == indent.size())
                end = lineBegin;
        }
        if (end > 0)
            push(TokenKind::Data, std::string(text.substr(0, end)));
    }

    void readTextAndTag()
    {
        const std::string_view remaining = rest();
        std::size_t open = remaining.find('{');
        while (open != std::string_view::npos &&
               (open + 1 == remaining.size() ||
                std::string_view("{%#").find(remaining[open + 1]) == std::string_view::npos))
            open = remaining.find('{', open + 1);
        if (open == std::string_view::npos) {
            push(TokenKind::Data, std::string(remaining));
            advance(remaining.size());
            return;
        }
        const char kind = remaining[open + 1];
        const char sign = open + 2 < remaining.size() ? remaining[open + 2] : ' ';
        const bool signedTag = sign == '-' || sign == '+';
        pushText(remaining.substr(0, open), sign, kind == '{');
        advance(open + 2 + (signedTag ? 1 : 0));
        if (kind == '#')
            skipComment();
        else if (kind == '%' && !readRaw())
            readTag(TokenKind::BlockBegin, TokenKind::BlockEnd, "%}");
        else if (kind == '{')
            readTag(TokenKind::VariableBegin, TokenKind::VariableEnd, "}}");
    }

    void skipComment()
    {
        const std::size_t end = rest().find("#}");
        if (end == std::string_view::npos)
            error("a comment is never closed with #}");
        const char sign = end > 0 ? rest()[end - 1] : ' ';
        advance(end + 2);
        finishBlock(sign);
    }

    // What follows a block's or comment's end: "-" eats white space, trim_blocks one newline unless "+".
    void finishBlock(char sign)
    {
        if (sign == '-')
            skipSpace();
        else if (sign != '+' && rest().starts_with('\n'))
            advance(1);
    }

    // A tag "{% NAME %}" with nothing else in it: its bytes and the sign at its end; 0 bytes if it is not that.
    struct BareTag {
        std::size_t bytes = 0;
        char sign = ' ';
    };
    static BareTag bareTag(std::string_view text, std::string_view name)
    {
        std::size_t at = stripped(text, true, false).begin;
        if (!text.substr(at).starts_with(name))
            return {};
        at += name.size();
        at += stripped(text.substr(at), true, false).begin;
        const char sign = at < text.size() && (text[at] == '-' || text[at] == '+') ? text[at] : ' ';
        at += sign == ' ' ? 0 : 1;
        return text.substr(at).starts_with("%}") ? BareTag{at + 2, sign} : BareTag{};
    }

    bool readRaw()
    {
        // Looking at a few bytes keeps bareTag() from walking the whole template for every tag.
        const BareTag begin = bareTag(rest().substr(0, 64), "raw");
        if (begin.bytes == 0 || begin.sign == '+')
            return false;  // Jinja too takes no + there
        advance(begin.bytes);
        if (begin.sign == '-')
            skipSpace();
        for (std::size_t open = rest().find("{%"); open != std::string_view::npos; open = rest().find("{%", open + 2)) {
            const std::string_view tag = rest().substr(open + 2, 64);
            const char sign = tag.empty() ? ' ' : tag[0];
            const std::size_t signBytes = sign == '-' || sign == '+' ? 1 : 0;
            const BareTag end = bareTag(tag.substr(signBytes), "endraw");
            if (end.bytes == 0)
                continue;
            pushText(rest().substr(0, open), sign, false);
            advance(open + 2 + signBytes + end.bytes);
            finishBlock(end.sign);
            return true;
        }
        error("raw is never closed with endraw");
    }

    void readTag(TokenKind begin, TokenKind end, std::string_view closing)
    {
        push(begin, "");
        std::string open;  // brackets not closed yet: "}}" inside them closes them, not the tag
        for (;;) {
            skipSpace();
            if (m_at == m_source.size())
                error(fmt::format("a tag is never closed with {}", closing));
            const bool isSigned = rest()[0] == '-' || (rest()[0] == '+' && end == TokenKind::BlockEnd);
            if (open.empty() && rest().substr(isSigned ? 1 : 0).starts_with(closing)) {
                const char sign = isSigned ? rest()[0] : ' ';
                push(end, "");
                advance(closing.size() + (isSigned ? 1 : 0));
                if (end == TokenKind::BlockEnd)
                    finishBlock(sign);
                else if (sign == '-')
                    skipSpace();
                return;
            }
            readToken(open);
        }
    }

    void readToken(std::string& open)
    {
        const char c = rest()[0];
        if (c == '"' || c == '\'') {
            readString(c);
        } else if (std::isdigit(static_cast<unsigned char>(c))) {
            readNumber();
        } else if (std::isalpha(static_cast<unsigned char>(c)) || c == '_' || static_cast<unsigned char>(c) >= 0x80) {
            std::size_t bytes = 1;
            while (bytes < rest().size() && (std::isalnum(static_cast<unsigned char>(rest()[bytes])) ||
                                             rest()[bytes] == '_' || static_cast<unsigned char>(rest()[bytes]) >= 0x80))
                ++bytes;
            push(TokenKind::Name, std::string(rest().substr(0, bytes)));
            advance(bytes);
        } else {
            readOperator(open);
        }
    }

    void readOperator(std::string& open)
    {
        static constexpr std::array<std::string_view, 6> kTwo = {"//", "**", "==", "!=", "<=", ">="};
        for (const std::string_view two : kTwo) {
            if (rest().starts_with(two)) {
                push(TokenKind::Operator, std::string(two));
                advance(2);
                return;
            }
        }
        const char c = rest()[0];
        if (std::string_view("+-*/%~<>=.:|,;()[]{}").find(c) == std::string_view::npos)
            error(fmt::format("unexpected character '{}'", std::string(rest().substr(0, nextUtf8(rest(), 0).bytes))));
        if (c == '(' || c == '[' || c == '{')
            open += c == '(' ? ')' : c == '[' ? ']' : '}';
        if (c == ')' || c == ']' || c == '}') {
            if (open.empty() || open.back() != c)
                error(fmt::format("unexpected '{}'", c));
            open.pop_back();
        }
        push(TokenKind::Operator, std::string(1, c));
        advance(1);
    }

    void readNumber()
    {
        const std::string_view text = rest();
        std::size_t bytes = 0;
        const auto digits = [&] {
            while (bytes < text.size() && (std::isdigit(static_cast<unsigned char>(text[bytes])) ||
                                           (text[bytes] == '_' && bytes + 1 < text.size() &&
                                            std::isdigit(static_cast<unsigned char>(text[bytes + 1])))))
                ++bytes;
        };
        const auto digitAt = [&](std::size_t at) {
            return at < text.size() && std::isdigit(static_cast<unsigned char>(text[at]));
        };
        digits();
        bool isFloat = false;
        if (bytes < text.size() && text[bytes] == '.' && digitAt(bytes + 1)) {
            isFloat = true;
            ++bytes;
            digits();
        }
        if (bytes < text.size() && (text[bytes] == 'e' || text[bytes] == 'E')) {
            const bool isSigned = bytes + 1 < text.size() && (text[bytes + 1] == '+' || text[bytes + 1] == '-');
            if (digitAt(bytes + (isSigned ? 2 : 1))) {
                isFloat = true;
                bytes += isSigned ? 2 : 1;
                digits();
            }
        }
        std::string number(text.substr(0, bytes));
        std::erase(number, '_');
        push(isFloat ? TokenKind::Float : TokenKind::Integer, number);
        advance(bytes);
    }

    void readString(char quote)
    {
        std::string meaning;
        std::size_t i = 1;
        for (;;) {
            if (i >= rest().size())
                error("a string is never closed");
            const char c = rest()[i];
            if (c == quote)
                break;
            if (c != '\\') {
                meaning += c;
                ++i;
                continue;
            }
            i += 1 + readEscape(rest().substr(i + 1), meaning);
        }
        push(TokenKind::String, std::move(meaning));
        advance(i + 1);
    }

    // Python's escapes; returns the bytes behind the backslash that belong to it.
    std::size_t readEscape(std::string_view text, std::string& meaning) const
    {
        if (text.empty())
            error("a string is never closed");
        const char c = text[0];
        static constexpr std::string_view kLetters = "nrtabfv\\'\"";
        static constexpr std::string_view kMeanings = "\n\r\t\a\b\f\v\\'\"";
        if (const std::size_t letter = kLetters.find(c); letter != std::string_view::npos) {
            meaning += kMeanings[letter];
            return 1;
        }
        if (c == '\n')
            return 1;
        if (c == 'x' || c == 'u' || c == 'U') {
            const std::size_t count = c == 'x' ? 2 : c == 'u' ? 4 : 8;
            char32_t value = 0;
            for (std::size_t i = 1; i <= count; ++i) {
                const char digit = i < text.size() ? text[i] : ' ';
                if (!std::isxdigit(static_cast<unsigned char>(digit)))
                    error(fmt::format("\\{} in a string needs {} hexadecimal digits", c, count));
                value = value * 16 + static_cast<char32_t>(std::isdigit(static_cast<unsigned char>(digit))
                                                               ? digit - '0'
                                                               : (digit | 32) - 'a' + 10);
            }
            if (value > 0x10FFFF || (value >= 0xD800 && value < 0xE000))
                error(fmt::format("\\{} in a string names no character", c));
            appendUtf8(meaning, value);
            return 1 + count;
        }
        if (c >= '0' && c <= '7') {
            char32_t value = 0;
            std::size_t count = 0;
            while (count < 3 && count < text.size() && text[count] >= '0' && text[count] <= '7')
                value = value * 8 + static_cast<char32_t>(text[count++] - '0');
            appendUtf8(meaning, value);
            return count;
        }
        meaning += '\\';  // an unknown escape stays as it is
        return 0;
    }

    const std::string m_source;
    std::size_t m_at = 0;
    int m_line = 1;
    bool m_lineStarts = true;  // what comes next is the beginning of a line
    std::vector<Token> m_tokens;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source)
{
    return Lexer(source).run();
}

}  // namespace tokenscope::jinja
