#include "engine/template/interpreter.h"

#include "engine/template/unicode.h"

#include <fmt/format.h>

#include <algorithm>

namespace tokenscope::jinja {
namespace {

// Each uses up to about 1 KiB of stack with what it calls; 1,000 of them fit in any thread's.
constexpr int kMaxFrames = 1'000;

std::string objectName(const Value& value)
{
    return std::holds_alternative<None>(value) ? "'None'" : fmt::format("'{} object'", typeName(value));
}

Value missing(std::string reason)
{
    return Undefined{std::make_shared<const std::string>(std::move(reason))};
}

Method findMethod(const Value& value, std::string_view name)
{
    if (asText(value))
        return findStringMethod(name);
    if (std::holds_alternative<ListObject*>(value))
        return findListMethod(name);
    if (std::holds_alternative<DictObject*>(value))
        return findDictMethod(name);
    return nullptr;
}

// A key or index that leads nowhere is undefined, not an error, until it is used.
Value missingElement(const Value& value, const Value& key)
{
    if (const Text* name = asText(key))
        return missing(fmt::format("{} has no attribute '{}'", objectName(value), name->bytes()));
    return missing(fmt::format("{} has no element of that index", objectName(value)));
}

}  // namespace

void failUndefined(const Value& value)
{
    const auto& reason = std::get<Undefined>(value).reason;
    throw TemplateError{reason ? *reason : "a value is undefined"};
}

Value Interpreter::evaluate(const Expression& expression)
{
    charge(1);
    if (++m_frames > kMaxFrames) {
        --m_frames;
        throw TemplateError{fmt::format("expressions are nested more than {} deep", kMaxFrames)};
    }
    m_line = expression.line;
    Value value = evaluateNode(expression);
    --m_frames;
    return value;
}

Value Interpreter::evaluateNode(const Expression& expression)
{
    using Kind = Expression::Kind;
    const auto& operands = expression.operands;
    switch (expression.kind) {
    case Kind::Constant:
        return expression.constant;
    case Kind::Name: {
        const Value* value = find(expression.name);
        return value ? *value : missing(fmt::format("'{}' is undefined", expression.name));
    }
    case Kind::List:
        return list(evaluateAll(operands));
    case Kind::Tuple:
        return list(evaluateAll(operands), ListObject::Kind::Tuple);
    case Kind::Dict:
        return evaluateDict(expression);
    case Kind::PostfixChain:
        return evaluateChain(expression, nullptr, expression.links.size());
    case Kind::Arithmetic:
        return evaluateArithmetic(expression);
    case Kind::Compare:
        return evaluateCompare(expression);
    case Kind::Concat: {
        Text joined;
        for (const auto& operand : operands) {
            joined.append(str(evaluate(*operand)));
            chargeBytes(joined.size());
        }
        return textValue(std::move(joined));
    }
    case Kind::And:
    case Kind::Or: {
        // The value that decides, not a boolean.
        Value value = evaluate(*operands[0]);
        for (std::size_t i = 1; i < operands.size() && isTrue(value) == (expression.kind == Kind::And); ++i)
            value = evaluate(*operands[i]);
        return value;
    }
    case Kind::Not:
        return !isTrue(evaluate(*operands[0]));
    case Kind::Negative:
        return negative(evaluate(*operands[0]));
    case Kind::Positive: {
        const Value value = evaluate(*operands[0]);
        return isNumber(value) && !std::holds_alternative<double>(value) ? Value(integerOf(value))
                                                                         : negative(negative(value));
    }
    case Kind::Conditional:
        if (isTrue(evaluate(*operands[1])))
            return evaluate(*operands[0]);
        if (operands.size() > 2)
            return evaluate(*operands[2]);
        return missing("the inline if-expression had no else and its condition was false");
    }
    return Undefined{};
}

Value Interpreter::evaluateDict(const Expression& expression)
{
    DictObject* made = dict();
    for (std::size_t i = 0; i < expression.operands.size(); i += 2) {
        const Value key = evaluate(*expression.operands[i]);
        made->set(key, evaluate(*expression.operands[i + 1]));
    }
    return made;
}

std::vector<Value> Interpreter::evaluateAll(const std::vector<ExpressionPointer>& expressions)
{
    std::vector<Value> values;
    values.reserve(expressions.size());
    for (const auto& expression : expressions)
        values.push_back(evaluate(*expression));
    return values;
}

Arguments Interpreter::evaluateArguments(const CallArguments& arguments)
{
    Arguments values;
    values.positional = evaluateAll(arguments.positional);
    for (const auto& [name, expression] : arguments.named)
        values.named.emplace_back(name, evaluate(*expression));
    return values;
}

Value Interpreter::evaluateArithmetic(const Expression& expression)
{
    Value value = evaluate(*expression.operands[0]);
    for (std::size_t i = 1; i < expression.operands.size(); ++i) {
        const Value right = evaluate(*expression.operands[i]);
        m_line = expression.line;
        value = arithmetic(*this, expression.operators[i - 1], value, right);
    }
    return value;
}

bool Interpreter::evaluateCompare(const Expression& expression)
{
    Value left = evaluate(*expression.operands[0]);
    for (std::size_t i = 1; i < expression.operands.size(); ++i) {
        Value right = evaluate(*expression.operands[i]);
        m_line = expression.line;
        if (!compareOne(expression.operators[i - 1], left, right))
            return false;
        left = std::move(right);
    }
    return true;
}

bool Interpreter::compareOne(const std::string& comparison, const Value& left, const Value& right)
{
    if (comparison == "==")
        return equals(*this, left, right);
    if (comparison == "!=")
        return !equals(*this, left, right);
    if (comparison == "in")
        return contains(right, left);
    if (comparison == "not in")
        return !contains(right, left);
    const int order = compare(*this, left, right);
    if (comparison == "<")
        return order < 0;
    if (comparison == "<=")
        return order <= 0;
    return comparison == ">" ? order > 0 : order >= 0;
}

bool Interpreter::contains(const Value& container, const Value& item)
{
    if (const Text* text = asText(container)) {
        const Text* part = asText(item);
        if (!part)
            throw TemplateError{fmt::format("'in' of a string needs a string on its left, not {}", typeName(item))};
        charge(1 + text->size() / 64);
        return text->bytes().find(part->bytes()) != std::string::npos;
    }
    if (const auto* dict = std::get_if<DictObject*>(&container))
        return (*dict)->find(item) != nullptr;
    const std::vector<Value> items = iterate(container);
    return std::ranges::any_of(items, [&](const Value& candidate) { return equals(*this, candidate, item); });
}

Value Interpreter::evaluateChain(const Expression& expression, const Value* first, std::size_t links)
{
    Value value = first ? *first : evaluate(*expression.operands[0]);
    for (std::size_t i = 0; i < links; ++i) {
        const Postfix& link = expression.links[i];
        charge(1);
        m_line = link.line;
        // x.method(…): no callable object in between.
        const bool isMethodCall = link.kind == Postfix::Kind::Attribute && i + 1 < links &&
                                  expression.links[i + 1].kind == Postfix::Kind::Call;
        if (const Method method = isMethodCall ? findMethod(value, link.name) : nullptr) {
            ++i;
            Arguments arguments = evaluateArguments(expression.links[i].arguments);
            m_line = link.line;
            value = method(*this, value, arguments);
        } else {
            value = evaluateLink(value, link);
        }
    }
    return value;
}

Value Interpreter::evaluateLink(const Value& value, const Postfix& link)
{
    const auto optional = [this](const ExpressionPointer& expression) {
        return expression ? evaluate(*expression) : Value(None{});
    };
    switch (link.kind) {
    case Postfix::Kind::Attribute:
        return attribute(value, link.name);
    case Postfix::Kind::Subscript: {
        const Value key = evaluate(*link.index);
        m_line = link.line;
        return subscript(value, key);
    }
    case Postfix::Kind::Slice: {
        const Value from = optional(link.index);
        const Value to = optional(link.sliceEnd);
        const Value step = optional(link.sliceStep);
        m_line = link.line;
        return slice(value, from, to, step);
    }
    default:
        break;
    }
    Arguments arguments = evaluateArguments(link.arguments);
    m_line = link.line;
    switch (link.kind) {
    case Postfix::Kind::Call:
        return call(value, arguments);
    case Postfix::Kind::Filter:
        return filter(link.name, value, arguments);
    case Postfix::Kind::Test:
        return test(link.name, value, arguments);
    default:
        return !test(link.name, value, arguments);
    }
}

Value Interpreter::call(const Value& callee, Arguments& arguments)
{
    if (isUndefined(callee))
        failUndefined(callee);
    if (const auto* function = std::get_if<CallableObject*>(&callee))
        return (*function)->call(*this, arguments);
    if (const auto* loop = std::get_if<LoopObject*>(&callee)) {
        if (!(*loop)->recurse)
            throw TemplateError{"loop() needs a loop marked as recursive"};
        if (arguments.positional.size() != 1 || !arguments.named.empty())
            throw TemplateError{"loop() takes one argument"};
        return (*loop)->recurse(*this, arguments.positional[0]);
    }
    throw TemplateError{fmt::format("'{}' object is not callable", typeName(callee))};
}

Value Interpreter::attribute(const Value& value, const std::string& name)
{
    if (isUndefined(value))
        failUndefined(value);
    if (const Method method = findMethod(value, name))
        return callable(
            name, [value, method](Interpreter& self, Arguments& arguments) { return method(self, value, arguments); });
    if (const auto* space = std::get_if<NamespaceObject*>(&value)) {
        if (const Value* found = (*space)->find(name))
            return *found;
    } else if (const auto* dict = std::get_if<DictObject*>(&value)) {
        if (const Value* found = (*dict)->find(textValue(name)))
            return *found;
    } else if (const auto* loop = std::get_if<LoopObject*>(&value)) {
        Value found = loopAttribute(*this, **loop, name);
        if (!isUndefined(found) || name == "previtem" || name == "nextitem")
            return found;
    }
    return missing(fmt::format("{} has no attribute '{}'", objectName(value), name));
}

Value Interpreter::subscript(const Value& value, const Value& key)
{
    if (isUndefined(value))
        failUndefined(value);
    if (const auto* dict = std::get_if<DictObject*>(&value)) {
        const auto* keyList = std::get_if<ListObject*>(&key);
        const bool hashable = asText(key) || isNumber(key) || std::holds_alternative<None>(key) ||
                              (keyList && (*keyList)->kind == ListObject::Kind::Tuple);
        if (const Value* found = hashable ? (*dict)->find(key) : nullptr)
            return *found;
    }
    if (isInteger(key)) {
        const auto* list = std::get_if<ListObject*>(&value);
        const Text* text = asText(value);
        const bool indexable =
            text || (list && (*list)->kind != ListObject::Kind::View && (*list)->kind != ListObject::Kind::Iterator);
        if (!indexable)
            return missingElement(value, key);
        const auto starts = text ? characterStarts(text->bytes()) : std::vector<std::size_t>();
        charge(starts.size() / 64);
        const auto count = static_cast<std::int64_t>(text ? starts.size() - 1 : (*list)->items.size());
        const std::int64_t index = integerOf(key) + (integerOf(key) < 0 ? count : 0);
        if (index < 0 || index >= count)
            return missingElement(value, key);
        if (list)
            return (*list)->items[static_cast<std::size_t>(index)];
        return textValue(
            text->slice(starts[static_cast<std::size_t>(index)], starts[static_cast<std::size_t>(index) + 1]));
    }
    if (const Text* name = asText(key))
        return attribute(value, name->bytes());
    return missingElement(value, key);
}

Value Interpreter::slice(const Value& value, const Value& from, const Value& to, const Value& step)
{
    if (isUndefined(value))
        failUndefined(value);
    const Text* text = asText(value);
    const auto* source = std::get_if<ListObject*>(&value);
    if (!text &&
        (!source || (*source)->kind == ListObject::Kind::View || (*source)->kind == ListObject::Kind::Iterator))
        return missingElement(value, from);
    for (const Value* part : {&from, &to, &step}) {
        if (!std::holds_alternative<None>(*part) && !isInteger(*part))
            return missingElement(value, *part);
    }
    const std::int64_t stride = std::holds_alternative<None>(step) ? 1 : integerOf(step);
    if (stride == 0)
        throw TemplateError{"slice step cannot be zero"};
    const auto starts = text ? characterStarts(text->bytes()) : std::vector<std::size_t>();
    const auto count = static_cast<std::int64_t>(text ? starts.size() - 1 : (*source)->items.size());
    // Python's rules: negative counts from the end, then clamped to what the direction allows.
    const std::int64_t low = stride > 0 ? 0 : -1;
    const std::int64_t high = stride > 0 ? count : count - 1;
    const auto bound = [&](const Value& given, std::int64_t otherwise) {
        if (std::holds_alternative<None>(given))
            return otherwise;
        const std::int64_t index = integerOf(given);
        return std::clamp(index < 0 ? std::max(index, -count - 1) + count : index, low, high);
    };
    const std::int64_t begin = bound(from, stride > 0 ? low : high);
    const std::int64_t end = bound(to, stride > 0 ? high : low);
    Text part;
    std::vector<Value> items;
    if (text && stride == 1) {
        if (begin < end)
            part = text->slice(starts[static_cast<std::size_t>(begin)], starts[static_cast<std::size_t>(end)]);
        return this->text(std::move(part));
    }
    for (std::int64_t i = begin; stride > 0 ? i < end : i > end;) {
        const auto index = static_cast<std::size_t>(i);
        if (text)
            part.append(*text, starts[index], starts[index + 1]);
        else
            items.push_back((*source)->items[index]);
        if (stride > 0 ? stride >= end - i : stride <= end - i)
            break;
        i += stride;
    }
    return text ? this->text(std::move(part)) : list(std::move(items), (*source)->kind);
}

}  // namespace tokenscope::jinja
