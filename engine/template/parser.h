// Recursive descent over the tokens of a template, with Jinja's grammar and precedences.
#pragma once

#include "engine/template/lexer.h"
#include "engine/template/syntax.h"

#include <initializer_list>
#include <set>
#include <string>
#include <vector>

namespace tokenscope::jinja {

class Parser {
public:
    explicit Parser(std::vector<Token> tokens) : m_tokens(std::move(tokens)) {}

    // Statements up to a block whose first name is one of `ends` (left unread), or to the end of the template.
    Body parseBody(std::initializer_list<std::string_view> ends, const std::string& opened, int openedLine);

private:
    // Expressions (expression_parser.cpp).
    ExpressionPointer parseExpression();  // conditional expression
    ExpressionPointer parseExpressionOrTuple();
    ExpressionPointer parseOr();
    ExpressionPointer parseAnd();
    ExpressionPointer parseNot();
    ExpressionPointer parseCompare();
    ExpressionPointer parseSum();
    ExpressionPointer parseConcat();
    ExpressionPointer parseProduct();
    ExpressionPointer parsePower();
    ExpressionPointer parseUnary(bool withFilters);
    ExpressionPointer parsePrimary();
    ExpressionPointer parseParenthesised();
    ExpressionPointer parseListLiteral();
    ExpressionPointer parseDictLiteral();
    ExpressionPointer parsePostfix(ExpressionPointer operand, bool withFilters);
    bool parsePostfixLink(Postfix& link);
    void parseFilterLink(Postfix& link);
    void parseTestLink(Postfix& link);
    Postfix parseSubscript();
    CallArguments parseArguments();
    ExpressionPointer node(Expression::Kind kind) const;
    template <typename ParseOperand>
    ExpressionPointer parseChain(Expression::Kind kind, std::initializer_list<std::string_view> operators,
                                 const ParseOperand& parseOperand);

    // Statements (statement_parser.cpp).
    std::unique_ptr<Statement> parseStatement();
    void parseIf(Statement& statement);
    void parseFor(Statement& statement);
    void parseSet(Statement& statement);
    void parseMacro(Statement& statement);
    void parseCallBlock(Statement& statement);
    void parseFilterBlock(Statement& statement);
    std::vector<MacroParameter> parseParameters();
    Target parseTarget(bool attributesAllowed);
    Target parseOneTarget(bool attributesAllowed);
    Body parseBodyUpTo(std::string_view end, const std::string& opened, int openedLine);

    // Tokens.
    const Token& current() const { return m_tokens[m_at]; }
    const Token& ahead() const { return m_tokens[std::min(m_at + 1, m_tokens.size() - 1)]; }
    Token next() { return m_at + 1 < m_tokens.size() ? m_tokens[m_at++] : m_tokens[m_at]; }
    bool takeOperator(std::string_view text);
    bool takeName(std::string_view text);
    void expectOperator(std::string_view text);
    std::string expectName(const char* what);
    void expectBlockEnd();
    bool endsExpression() const;
    [[noreturn]] void error(const std::string& message) const;
    [[noreturn]] void unexpected(const char* wanted) const;

    // Bounds the recursion of this parser, of the tree's evaluation and of its destruction.
    class Nesting {
    public:
        explicit Nesting(Parser& parser);
        ~Nesting() { --m_parser.m_depth; }

    private:
        Parser& m_parser;
    };

    std::vector<Token> m_tokens;
    std::size_t m_at = 0;
    int m_depth = 0;
    int m_loops = 0;                                  // open for loops, within the innermost macro
    std::vector<std::set<std::string>> m_macroNames;  // names read in the macros being parsed
};

}  // namespace tokenscope::jinja
