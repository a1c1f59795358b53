#include "engine/template/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace tokenscope::jinja {

ExpressionPointer Parser::node(Expression::Kind kind) const
{
    auto made = std::make_unique<Expression>();
    made->kind = kind;
    made->line = current().line;
    return made;
}

template <typename ParseOperand>
ExpressionPointer Parser::parseChain(Expression::Kind kind, std::initializer_list<std::string_view> operators,
                                     const ParseOperand& parseOperand)
{
    ExpressionPointer chain = node(kind);
    chain->operands.push_back(parseOperand());
    for (;;) {
        const Token& token = current();
        const bool known = (token.kind == TokenKind::Operator || token.kind == TokenKind::Name) &&
                           std::ranges::find(operators, token.text) != operators.end();
        if (!known)
            break;
        chain->operators.push_back(next().text);
        chain->operands.push_back(parseOperand());
    }
    return chain->operands.size() == 1 ? std::move(chain->operands[0]) : std::move(chain);
}

ExpressionPointer Parser::parseExpression()
{
    const Nesting nesting(*this);
    ExpressionPointer value = parseOr();
    while (current().isName("if")) {
        ExpressionPointer conditional = node(Expression::Kind::Conditional);
        next();
        conditional->operands.push_back(std::move(value));
        conditional->operands.push_back(parseOr());
        if (takeName("else"))
            conditional->operands.push_back(parseExpression());
        value = std::move(conditional);
    }
    return value;
}

// "a, b" without parentheses is a tuple.
ExpressionPointer Parser::parseExpressionOrTuple()
{
    ExpressionPointer tuple = node(Expression::Kind::Tuple);
    tuple->operands.push_back(parseExpression());
    bool comma = false;
    while (takeOperator(",")) {
        comma = true;
        if (endsExpression())
            break;
        tuple->operands.push_back(parseExpression());
    }
    return comma ? std::move(tuple) : std::move(tuple->operands[0]);
}

ExpressionPointer Parser::parseOr()
{
    return parseChain(Expression::Kind::Or, {"or"}, [this] { return parseAnd(); });
}

ExpressionPointer Parser::parseAnd()
{
    return parseChain(Expression::Kind::And, {"and"}, [this] { return parseNot(); });
}

ExpressionPointer Parser::parseNot()
{
    if (!current().isName("not"))
        return parseCompare();
    const Nesting nesting(*this);
    ExpressionPointer negation = node(Expression::Kind::Not);
    next();
    negation->operands.push_back(parseNot());
    return negation;
}

ExpressionPointer Parser::parseCompare()
{
    ExpressionPointer chain = node(Expression::Kind::Compare);
    chain->operands.push_back(parseSum());
    for (;;) {
        static constexpr std::string_view kComparisons[] = {"==", "!=", "<", "<=", ">", ">="};
        if (current().isName("in")) {
            next();
            chain->operators.push_back("in");
        } else if (current().isName("not") && ahead().isName("in")) {
            next();
            next();
            chain->operators.push_back("not in");
        } else if (current().kind == TokenKind::Operator &&
                   std::ranges::find(kComparisons, current().text) != std::end(kComparisons)) {
            chain->operators.push_back(next().text);
        } else {
            break;
        }
        chain->operands.push_back(parseSum());
    }
    return chain->operands.size() == 1 ? std::move(chain->operands[0]) : std::move(chain);
}

ExpressionPointer Parser::parseSum()
{
    return parseChain(Expression::Kind::Arithmetic, {"+", "-"}, [this] { return parseConcat(); });
}

ExpressionPointer Parser::parseConcat()
{
    return parseChain(Expression::Kind::Concat, {"~"}, [this] { return parseProduct(); });
}

ExpressionPointer Parser::parseProduct()
{
    return parseChain(Expression::Kind::Arithmetic, {"*", "/", "//", "%"}, [this] { return parsePower(); });
}

ExpressionPointer Parser::parsePower()
{
    return parseChain(Expression::Kind::Arithmetic, {"**"}, [this] { return parseUnary(true); });
}

ExpressionPointer Parser::parseUnary(bool withFilters)
{
    ExpressionPointer operand;
    if (current().isOperator("-") || current().isOperator("+")) {
        const Nesting nesting(*this);
        operand = node(current().text == "-" ? Expression::Kind::Negative : Expression::Kind::Positive);
        next();
        operand->operands.push_back(parseUnary(false));
    } else {
        operand = parsePrimary();
    }
    return parsePostfix(std::move(operand), withFilters);
}

ExpressionPointer Parser::parsePrimary()
{
    ExpressionPointer primary = node(Expression::Kind::Constant);
    const Token& token = current();
    switch (token.kind) {
    case TokenKind::Name:
        if (token.text == "true" || token.text == "True" || token.text == "false" || token.text == "False") {
            primary->constant = token.text[0] == 't' || token.text[0] == 'T';
        } else if (token.text == "none" || token.text == "None") {
            primary->constant = None{};
        } else {
            primary->kind = Expression::Kind::Name;
            primary->name = token.text;
            for (auto& names : m_macroNames)
                names.insert(token.text);
        }
        next();
        return primary;
    case TokenKind::String: {
        std::string joined;  // neighbouring strings are one
        while (current().kind == TokenKind::String)
            joined += next().text;
        primary->constant = textValue(Text(std::move(joined)));
        return primary;
    }
    case TokenKind::Integer: {
        std::int64_t number = 0;
        const auto [end, status] = std::from_chars(token.text.data(), token.text.data() + token.text.size(), number);
        if (status != std::errc())
            error(fmt::format("{} does not fit in 64 bits", token.text));
        primary->constant = number;
        next();
        return primary;
    }
    case TokenKind::Float: {
        double number = 0;
        std::from_chars(token.text.data(), token.text.data() + token.text.size(), number);
        primary->constant = number;
        next();
        return primary;
    }
    default:
        break;
    }
    if (token.isOperator("("))
        return parseParenthesised();
    if (token.isOperator("["))
        return parseListLiteral();
    if (token.isOperator("{"))
        return parseDictLiteral();
    unexpected("an expression");
}

ExpressionPointer Parser::parseParenthesised()
{
    const Nesting nesting(*this);
    ExpressionPointer tuple = node(Expression::Kind::Tuple);
    next();
    if (takeOperator(")"))
        return tuple;
    ExpressionPointer inside = parseExpressionOrTuple();
    expectOperator(")");
    return inside;
}

ExpressionPointer Parser::parseListLiteral()
{
    const Nesting nesting(*this);
    ExpressionPointer list = node(Expression::Kind::List);
    next();
    while (!takeOperator("]")) {
        if (!list->operands.empty()) {
            expectOperator(",");
            if (takeOperator("]"))
                break;
        }
        list->operands.push_back(parseExpression());
    }
    return list;
}

ExpressionPointer Parser::parseDictLiteral()
{
    const Nesting nesting(*this);
    ExpressionPointer dict = node(Expression::Kind::Dict);
    next();
    while (!takeOperator("}")) {
        if (!dict->operands.empty()) {
            expectOperator(",");
            if (takeOperator("}"))
                break;
        }
        dict->operands.push_back(parseExpression());
        expectOperator(":");
        dict->operands.push_back(parseExpression());
    }
    return dict;
}

ExpressionPointer Parser::parsePostfix(ExpressionPointer operand, bool withFilters)
{
    ExpressionPointer chain = node(Expression::Kind::PostfixChain);
    chain->line = operand->line;
    chain->operands.push_back(std::move(operand));
    bool filtered = false;  // behind a filter or test only calls and further filters and tests may follow
    for (;;) {
        Postfix link;
        link.line = current().line;
        if (withFilters && current().isOperator("|")) {
            next();
            parseFilterLink(link);
            filtered = true;
        } else if (withFilters && current().isName("is")) {
            next();
            parseTestLink(link);
            filtered = true;
        } else if (filtered ? !current().isOperator("(") || !parsePostfixLink(link) : !parsePostfixLink(link)) {
            break;
        }
        chain->links.push_back(std::move(link));
    }
    return chain->links.empty() ? std::move(chain->operands[0]) : std::move(chain);
}

bool Parser::parsePostfixLink(Postfix& link)
{
    if (takeOperator(".")) {
        link.kind = Postfix::Kind::Attribute;
        if (current().kind == TokenKind::Integer) {
            link.kind = Postfix::Kind::Subscript;
            link.index = parsePrimary();
        } else {
            link.name = expectName("a name behind the point");
        }
        return true;
    }
    if (current().isOperator("[")) {
        link = parseSubscript();
        return true;
    }
    if (current().isOperator("(")) {
        link.kind = Postfix::Kind::Call;
        link.arguments = parseArguments();
        return true;
    }
    return false;
}

void Parser::parseFilterLink(Postfix& link)
{
    link.kind = Postfix::Kind::Filter;
    link.name = expectName("the name of a filter");
    if (current().isOperator("("))
        link.arguments = parseArguments();
}

void Parser::parseTestLink(Postfix& link)
{
    link.kind = takeName("not") ? Postfix::Kind::NotTest : Postfix::Kind::Test;
    link.name = expectName("the name of a test");
    if (current().isOperator("(")) {
        link.arguments = parseArguments();
        return;
    }
    const Token& token = current();
    const bool argument =
        token.kind == TokenKind::String || token.kind == TokenKind::Integer || token.kind == TokenKind::Float ||
        token.isOperator("[") || token.isOperator("{") ||
        (token.kind == TokenKind::Name && !token.isName("else") && !token.isName("or") && !token.isName("and"));
    if (!argument)
        return;
    if (token.isName("is"))
        error("tests cannot be chained with is");
    // "x is defined if y": in Jinja too the "if" would be the test's argument, and fail as one it does not take.
    link.arguments.positional.push_back(parsePostfix(parsePrimary(), false));
}

Postfix Parser::parseSubscript()
{
    const Nesting nesting(*this);
    Postfix link;
    link.kind = Postfix::Kind::Subscript;
    link.line = current().line;
    next();
    if (!current().isOperator(":"))
        link.index = parseExpressionOrTuple();
    if (takeOperator(":")) {
        link.kind = Postfix::Kind::Slice;
        if (!current().isOperator(":") && !current().isOperator("]"))
            link.sliceEnd = parseExpression();
        if (takeOperator(":") && !current().isOperator("]"))
            link.sliceStep = parseExpression();
    }
    expectOperator("]");
    return link;
}

CallArguments Parser::parseArguments()
{
    const Nesting nesting(*this);
    CallArguments arguments;
    expectOperator("(");
    while (!takeOperator(")")) {
        if (!arguments.positional.empty() || !arguments.named.empty()) {
            expectOperator(",");
            if (takeOperator(")"))
                break;
        }
        if (current().isOperator("*") || current().isOperator("**"))
            error("arguments spread with * or ** are not supported");
        if (current().kind == TokenKind::Name && ahead().isOperator("=")) {
            std::string name = next().text;
            next();
            arguments.named.emplace_back(std::move(name), parseExpression());
        } else if (!arguments.named.empty()) {
            error("an argument without a name follows one with a name");
        } else {
            arguments.positional.push_back(parseExpression());
        }
    }
    return arguments;
}

}  // namespace tokenscope::jinja
