// Cuts a template into plain text and the tokens of its tags, with Jinja's white-space rules applied (trim_blocks,
// lstrip_blocks, "-" and "+"; one newline at the very end is dropped).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tokenscope::jinja {

enum class TokenKind {
    Data,
    BlockBegin,
    BlockEnd,
    VariableBegin,
    VariableEnd,
    Name,
    String,
    Integer,
    Float,
    Operator,
    End
};

struct Token {
    TokenKind kind = TokenKind::End;
    std::string text;  // of a string: what it means, escapes resolved
    int line = 1;

    bool isOperator(std::string_view wanted) const { return kind == TokenKind::Operator && text == wanted; }
    bool isName(std::string_view wanted) const { return kind == TokenKind::Name && text == wanted; }
};

// Ends with an End token. Throws TemplateError.
std::vector<Token> tokenize(std::string_view source);

}  // namespace tokenscope::jinja
