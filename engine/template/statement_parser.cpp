#include "engine/template/parser.h"

#include <fmt/format.h>

#include <algorithm>

namespace tokenscope::jinja {
namespace {

constexpr int kMaxNesting = 100;

}  // namespace

Parser::Nesting::Nesting(Parser& parser) : m_parser(parser)
{
    if (++parser.m_depth > kMaxNesting)
        parser.error(fmt::format("the template is nested more than {} deep", kMaxNesting));
}

void Parser::error(const std::string& message) const
{
    throw TemplateError{message, current().line};
}

void Parser::unexpected(const char* wanted) const
{
    const Token& token = current();
    std::string found = token.text;
    switch (token.kind) {
    case TokenKind::End:
        found = "the end of the template";
        break;
    case TokenKind::BlockEnd:
        found = "%}";
        break;
    case TokenKind::VariableEnd:
        found = "}}";
        break;
    default:
        found = "\"" + found + "\"";
        break;
    }
    error(fmt::format("expected {}, found {}", wanted, found));
}

bool Parser::takeOperator(std::string_view text)
{
    if (!current().isOperator(text))
        return false;
    next();
    return true;
}

bool Parser::takeName(std::string_view text)
{
    if (!current().isName(text))
        return false;
    next();
    return true;
}

void Parser::expectOperator(std::string_view text)
{
    if (!takeOperator(text))
        unexpected(fmt::format("\"{}\"", text).c_str());
}

std::string Parser::expectName(const char* what)
{
    if (current().kind != TokenKind::Name)
        unexpected(what);
    return next().text;
}

void Parser::expectBlockEnd()
{
    if (current().kind != TokenKind::BlockEnd)
        unexpected("the end of the block");
    next();
}

bool Parser::endsExpression() const
{
    const Token& token = current();
    return token.kind == TokenKind::BlockEnd || token.kind == TokenKind::VariableEnd || token.isOperator(")") ||
           token.isOperator("]") || token.isOperator("=") || token.isName("in");
}

Body Parser::parseBody(std::initializer_list<std::string_view> ends, const std::string& opened, int openedLine)
{
    const Nesting nesting(*this);
    Body body;
    while (current().kind != TokenKind::End) {
        if (current().kind == TokenKind::BlockBegin && ahead().kind == TokenKind::Name &&
            std::ranges::find(ends, ahead().text) != ends.end())
            return body;
        auto statement = std::make_unique<Statement>();
        statement->line = current().line;
        if (current().kind == TokenKind::Data) {
            statement->text = Text(next().text);
        } else if (current().kind == TokenKind::VariableBegin) {
            next();
            statement->kind = Statement::Kind::Print;
            statement->expression = parseExpressionOrTuple();
            if (current().kind != TokenKind::VariableEnd)
                unexpected("}}");
            next();
        } else {
            next();
            statement = parseStatement();
        }
        body.push_back(std::move(statement));
    }
    if (ends.size() > 0)
        error(fmt::format("\"{}\" of line {} is never closed", opened, openedLine));
    return body;
}

// Reads "{% END %}" too.
Body Parser::parseBodyUpTo(std::string_view end, const std::string& opened, int openedLine)
{
    Body body = parseBody({end}, opened, openedLine);
    next();
    next();
    expectBlockEnd();
    return body;
}

std::unique_ptr<Statement> Parser::parseStatement()
{
    auto statement = std::make_unique<Statement>();
    statement->line = current().line;
    const std::string name = expectName("the name of a block");
    if (name == "if") {
        parseIf(*statement);
    } else if (name == "for") {
        parseFor(*statement);
    } else if (name == "set") {
        parseSet(*statement);
    } else if (name == "macro") {
        parseMacro(*statement);
    } else if (name == "call") {
        parseCallBlock(*statement);
    } else if (name == "filter") {
        parseFilterBlock(*statement);
    } else if (name == "generation") {
        // Marks what the assistant wrote, for training: here its body as it is.
        statement->kind = Statement::Kind::Block;
        expectBlockEnd();
        statement->body = parseBodyUpTo("endgeneration", name, statement->line);
    } else if (name == "break" || name == "continue") {
        statement->kind = name == "break" ? Statement::Kind::Break : Statement::Kind::Continue;
        if (m_loops == 0)
            error(fmt::format("\"{}\" outside a loop", name));
        expectBlockEnd();
    } else {
        error(fmt::format("unknown block \"{}\"", name));
    }
    return statement;
}

void Parser::parseIf(Statement& statement)
{
    statement.kind = Statement::Kind::If;
    ExpressionPointer condition = parseExpressionOrTuple();
    for (;;) {
        expectBlockEnd();
        const bool isElse = !condition;
        Body body = isElse ? parseBody({"endif"}, "if", statement.line)
                           : parseBody({"elif", "else", "endif"}, "if", statement.line);
        statement.branches.emplace_back(std::move(condition), std::move(body));
        next();
        const std::string end = next().text;
        if (end == "endif")
            break;
        condition = end == "elif" ? parseExpressionOrTuple() : nullptr;
    }
    expectBlockEnd();
}

void Parser::parseFor(Statement& statement)
{
    statement.kind = Statement::Kind::For;
    statement.target = parseTarget(false);
    if (!takeName("in"))
        unexpected("\"in\"");
    // Not a conditional expression: the "if" belongs to the loop.
    ExpressionPointer tuple = node(Expression::Kind::Tuple);
    tuple->operands.push_back(parseOr());
    bool comma = false;
    while (takeOperator(",")) {
        comma = true;
        if (endsExpression() || current().isName("recursive") || current().isName("if"))
            break;
        tuple->operands.push_back(parseOr());
    }
    statement.expression = comma ? std::move(tuple) : std::move(tuple->operands[0]);
    if (takeName("if"))
        statement.condition = parseExpression();
    statement.recursive = takeName("recursive");
    expectBlockEnd();
    ++m_loops;
    statement.body = parseBody({"else", "endfor"}, "for", statement.line);
    --m_loops;
    next();
    if (next().text == "else") {
        expectBlockEnd();
        statement.otherwise = parseBodyUpTo("endfor", "for", statement.line);
    } else {
        expectBlockEnd();
    }
}

void Parser::parseSet(Statement& statement)
{
    statement.target = parseTarget(true);
    if (takeOperator("=")) {
        statement.kind = Statement::Kind::Set;
        statement.expression = parseExpressionOrTuple();
        expectBlockEnd();
        return;
    }
    statement.kind = Statement::Kind::SetBlock;
    if (current().isOperator("|")) {
        ExpressionPointer empty = node(Expression::Kind::Constant);
        statement.expression = parsePostfix(std::move(empty), true);
    }
    expectBlockEnd();
    statement.body = parseBodyUpTo("endset", "set", statement.line);
}

void Parser::parseMacro(Statement& statement)
{
    statement.kind = Statement::Kind::Macro;
    statement.name = expectName("the name of a macro");
    const int outerLoops = std::exchange(m_loops, 0);
    m_macroNames.emplace_back();
    statement.parameters = parseParameters();
    expectBlockEnd();
    statement.body = parseBodyUpTo("endmacro", "macro", statement.line);
    const auto& names = m_macroNames.back();
    statement.takesVarargs = names.contains("varargs");
    statement.takesKwargs = names.contains("kwargs");
    statement.takesCaller = names.contains("caller");
    m_macroNames.pop_back();
    m_loops = outerLoops;
}

void Parser::parseCallBlock(Statement& statement)
{
    statement.kind = Statement::Kind::CallBlock;
    if (current().isOperator("("))
        statement.parameters = parseParameters();
    statement.expression = parseUnary(true);
    const bool isCall = statement.expression->kind == Expression::Kind::PostfixChain &&
                        statement.expression->links.back().kind == Postfix::Kind::Call;
    if (!isCall)
        error("expected a call behind \"call\"");
    expectBlockEnd();
    const int outerLoops = std::exchange(m_loops, 0);
    statement.body = parseBodyUpTo("endcall", "call", statement.line);
    m_loops = outerLoops;
}

void Parser::parseFilterBlock(Statement& statement)
{
    statement.kind = Statement::Kind::FilterBlock;
    ExpressionPointer chain = node(Expression::Kind::PostfixChain);
    chain->operands.push_back(node(Expression::Kind::Constant));
    do {
        Postfix link;
        link.line = current().line;
        parseFilterLink(link);
        chain->links.push_back(std::move(link));
    } while (takeOperator("|"));
    statement.expression = std::move(chain);
    expectBlockEnd();
    statement.body = parseBodyUpTo("endfilter", "filter", statement.line);
}

std::vector<MacroParameter> Parser::parseParameters()
{
    std::vector<MacroParameter> parameters;
    expectOperator("(");
    while (!takeOperator(")")) {
        if (!parameters.empty()) {
            expectOperator(",");
            if (takeOperator(")"))
                break;
        }
        MacroParameter parameter;
        parameter.name = expectName("the name of a parameter");
        if (takeOperator("="))
            parameter.defaultValue = parseExpression();
        else if (!parameters.empty() && parameters.back().defaultValue)
            error("a parameter without a default follows one with a default");
        parameters.push_back(std::move(parameter));
    }
    return parameters;
}

Target Parser::parseTarget(bool attributesAllowed)
{
    Target first = parseOneTarget(attributesAllowed);
    if (!current().isOperator(","))
        return first;
    Target tuple;
    tuple.parts.push_back(std::move(first));
    while (takeOperator(",") && !endsExpression())
        tuple.parts.push_back(parseOneTarget(attributesAllowed));
    return tuple;
}

Target Parser::parseOneTarget(bool attributesAllowed)
{
    if (takeOperator("(")) {
        const Nesting nesting(*this);
        Target inside = parseTarget(attributesAllowed);
        expectOperator(")");
        return inside;
    }
    Target target;
    target.name = expectName("a name to assign to");
    static constexpr std::string_view kConstants[] = {"true", "false", "none", "True", "False", "None"};
    if (std::ranges::find(kConstants, target.name) != std::end(kConstants))
        error(fmt::format("cannot assign to \"{}\"", target.name));
    if (attributesAllowed && takeOperator("."))
        target.attribute = expectName("the name of an attribute");
    return target;
}

Body parseTemplate(std::string_view source)
{
    return Parser(tokenize(source)).parseBody({}, "", 0);
}

}  // namespace tokenscope::jinja
