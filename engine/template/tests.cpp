// What stands behind "is".
#include "engine/template/interpreter.h"

#include "engine/template/filters.h"
#include "engine/template/string_methods.h"
#include "engine/template/unicode.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace tokenscope::jinja {
namespace {

using Test = bool (*)(Interpreter&, const Value&, Arguments&);

template <typename Type>
bool holds(const Value& value)
{
    return std::holds_alternative<Type>(value);
}

bool isIterable(const Value& value)
{
    return asText(value) || isUndefined(value) || holds<ListObject*>(value) || holds<DictObject*>(value) ||
           holds<LoopObject*>(value);
}

bool isSequence(const Value& value)  // has a length and an item access
{
    const auto* list = std::get_if<ListObject*>(&value);
    if (list)
        return (*list)->kind != ListObject::Kind::Iterator && (*list)->kind != ListObject::Kind::View;
    return asText(value) || holds<DictObject*>(value) || isUndefined(value);
}

std::int64_t integerFor(const char* test, const Value& value)
{
    if (isUndefined(value))
        failUndefined(value);
    if (!isInteger(value))
        throw TemplateError{fmt::format("test '{}' needs an integer, not {}", test, typeName(value))};
    return integerOf(value);
}

Value onlyArgument(const char* test, Arguments& given)
{
    return BoundArguments(fmt::format("test '{}'", test), given, {"other"}).required(0);
}

// The same object, or an equal one of the small values that Python has only once.
bool isSame(Interpreter& interpreter, const Value& left, const Value& right)
{
    if (left.index() != right.index() || isUndefined(left))
        return false;
    const auto* list = std::get_if<ListObject*>(&left);
    const auto* dict = std::get_if<DictObject*>(&left);
    return list   ? *list == std::get<ListObject*>(right)
           : dict ? *dict == std::get<DictObject*>(right)
                  : equals(interpreter, left, right);
}

bool hasOnlyCase(Interpreter& interpreter, const Value& value, bool (*wanted)(char32_t), bool (*other)(char32_t))
{
    bool found = false;
    const Text text = interpreter.str(value);
    const auto starts = characterStarts(text.bytes());
    for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
        const char32_t c = codePointAt(text.bytes(), starts[i]);
        if (other(c))
            return false;
        found = found || wanted(c);
    }
    return found;
}

bool ordered(Interpreter& interpreter, const Value& left, const Value& right, const std::function<bool(int)>& accepts)
{
    return accepts(compare(interpreter, left, right));
}

struct NamedTest {
    std::string_view name;
    bool takesArgument;
    Test test;
};

#define TEST(body)                                                                                                     \
    [](Interpreter& interpreter, const Value& value, Arguments& arguments) -> bool {                                   \
        (void)interpreter, (void)value, (void)arguments;                                                               \
        return body;                                                                                                   \
    }
const NamedTest kTests[] = {
    {"defined", false, TEST(!isUndefined(value))},
    {"undefined", false, TEST(isUndefined(value))},
    {"none", false, TEST(holds<None>(value))},
    {"boolean", false, TEST(holds<bool>(value))},
    {"true", false, TEST(holds<bool>(value) && isTrue(value))},
    {"false", false, TEST(holds<bool>(value) && !isTrue(value))},
    {"integer", false, TEST(holds<std::int64_t>(value))},
    {"float", false, TEST(holds<double>(value))},
    {"number", false, TEST(isNumber(value))},
    {"string", false, TEST(asText(value) != nullptr)},
    {"mapping", false, TEST(holds<DictObject*>(value))},
    {"iterable", false, TEST(isIterable(value))},
    {"sequence", false, TEST(isSequence(value))},
    {"callable", false, TEST(holds<CallableObject*>(value) || holds<LoopObject*>(value) || isUndefined(value))},
    {"odd", false, TEST(integerFor("odd", value) % 2 != 0)},
    {"even", false, TEST(integerFor("even", value) % 2 == 0)},
    {"upper", false, TEST(hasOnlyCase(interpreter, value, &isUpper, &isLower))},
    {"lower", false, TEST(hasOnlyCase(interpreter, value, &isLower, &isUpper))},
    {"filter", false, TEST(asText(value) && isFilter(asText(value)->bytes()))},
    {"equalto", true, TEST(equals(interpreter, value, onlyArgument("equalto", arguments)))},
    {"ne", true, TEST(!equals(interpreter, value, onlyArgument("ne", arguments)))},
    {"lt", true, TEST(ordered(interpreter, value, onlyArgument("lt", arguments), [](int order) { return order < 0; }))},
    {"le", true,
     TEST(ordered(interpreter, value, onlyArgument("le", arguments), [](int order) { return order <= 0; }))},
    {"gt", true, TEST(ordered(interpreter, value, onlyArgument("gt", arguments), [](int order) { return order > 0; }))},
    {"ge", true,
     TEST(ordered(interpreter, value, onlyArgument("ge", arguments), [](int order) { return order >= 0; }))},
    {"in", true, TEST(interpreter.contains(onlyArgument("in", arguments), value))},
    {"sameas", true, TEST(isSame(interpreter, value, onlyArgument("sameas", arguments)))},
};
#undef TEST

std::string_view canonical(std::string_view name)
{
    static constexpr std::pair<std::string_view, std::string_view> kAliases[] = {
        {"eq", "equalto"}, {"==", "equalto"}, {"!=", "ne"}, {"<", "lt"},           {"lessthan", "lt"},
        {"<=", "le"},      {">", "gt"},       {">=", "ge"}, {"greaterthan", "gt"},
    };
    const auto found = std::ranges::find(kAliases, name, &std::pair<std::string_view, std::string_view>::first);
    return found == std::end(kAliases) ? name : found->second;
}

}  // namespace

bool Interpreter::test(const std::string& name, const Value& value, Arguments& arguments)
{
    charge(1);
    if (name == "divisibleby") {
        const std::int64_t divisor = integerFor("divisibleby", onlyArgument("divisibleby", arguments));
        if (divisor == 0)
            throw TemplateError{"division by zero"};
        return divisor == -1 || integerFor("divisibleby", value) % divisor == 0;
    }
    const auto found = std::ranges::find(kTests, canonical(name), &NamedTest::name);
    if (found == std::end(kTests))
        throw TemplateError{fmt::format("no test named '{}'", name)};
    if (!found->takesArgument)
        const BoundArguments none(fmt::format("test '{}'", name), arguments, {});
    return found->test(*this, value, arguments);
}

}  // namespace tokenscope::jinja
