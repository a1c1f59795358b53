#include "engine/template/interpreter.h"

#include "engine/template/string_format.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace tokenscope::jinja {
namespace {

[[noreturn]] void failTypes(const std::string& operation, const Value& left, const Value& right)
{
    for (const Value* side : {&left, &right}) {
        if (isUndefined(*side))
            failUndefined(*side);
    }
    throw TemplateError{
        fmt::format("unsupported operand types for {}: '{}' and '{}'", operation, typeName(left), typeName(right))};
}

[[noreturn]] void failOverflow()
{
    throw TemplateError{"an integer does not fit in 64 bits"};
}

[[noreturn]] void failDivision()
{
    throw TemplateError{"division by zero"};
}

std::int64_t power(std::int64_t base, std::int64_t exponent)
{
    std::int64_t result = 1;
    for (; exponent > 0; exponent >>= 1) {
        if ((exponent & 1) && __builtin_mul_overflow(result, base, &result))
            failOverflow();
        if (exponent > 1 && __builtin_mul_overflow(base, base, &base))
            failOverflow();
    }
    return result;
}

// Python rounds quotients down and gives the remainder the divisor's sign.
Value integerArithmetic(const std::string& operation, std::int64_t a, std::int64_t b)
{
    std::int64_t result = 0;
    if (operation == "+") {
        if (__builtin_add_overflow(a, b, &result))
            failOverflow();
    } else if (operation == "-") {
        if (__builtin_sub_overflow(a, b, &result))
            failOverflow();
    } else if (operation == "*") {
        if (__builtin_mul_overflow(a, b, &result))
            failOverflow();
    } else if (operation == "**") {
        if (b < 0) {
            if (a == 0)
                failDivision();
            return std::pow(static_cast<double>(a), static_cast<double>(b));
        }
        return power(a, b);
    } else {
        if (b == 0)
            failDivision();
        if (operation == "/")
            return static_cast<double>(a) / static_cast<double>(b);
        if (b == -1) {  // the one quotient that overflows
            if (a == std::numeric_limits<std::int64_t>::min() && operation == "//")
                failOverflow();
            return operation == "//" ? -a : std::int64_t{0};
        }
        const std::int64_t quotient = a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
        result = operation == "//" ? quotient : a - quotient * b;
    }
    return result;
}

Value floatArithmetic(const std::string& operation, double a, double b)
{
    if (operation == "+")
        return a + b;
    if (operation == "-")
        return a - b;
    if (operation == "*")
        return a * b;
    if (operation == "**") {
        const double result = std::pow(a, b);
        if (a == 0 && b < 0)
            failDivision();
        if (std::isinf(result) && std::isfinite(a) && std::isfinite(b))
            throw TemplateError{"a power is too large for a float"};
        if (std::isnan(result) && !std::isnan(a) && !std::isnan(b))
            throw TemplateError{"a power is a complex number"};
        return result;
    }
    if (b == 0)
        failDivision();
    if (operation == "/")
        return a / b;
    double remainder = std::fmod(a, b);
    if (remainder != 0 && (remainder < 0) != (b < 0))
        remainder += b;
    if (operation == "%")
        return remainder;
    return std::round((a - remainder) / b);
}

Value repeated(Interpreter& interpreter, const Value& sequence, std::int64_t count)
{
    const auto times = static_cast<std::size_t>(std::max<std::int64_t>(count, 0));
    if (const Text* text = asText(sequence)) {
        if (!text->empty() && times > interpreter.maxTextBytes() / text->size())
            interpreter.chargeBytes(interpreter.maxTextBytes() + 1);
        Text result;
        for (std::size_t i = 0; i < times && !text->empty(); ++i)
            result.append(*text);
        return interpreter.text(std::move(result));
    }
    const ListObject& list = *std::get<ListObject*>(sequence);
    std::vector<Value> items;
    for (std::size_t i = 0; i < times && !list.items.empty(); ++i) {
        interpreter.charge(list.items.size());
        items.insert(items.end(), list.items.begin(), list.items.end());
    }
    return interpreter.list(std::move(items), list.kind);
}

bool isRepeatable(const Value& value)
{
    const auto* list = std::get_if<ListObject*>(&value);
    return asText(value) ||
           (list && ((*list)->kind == ListObject::Kind::List || (*list)->kind == ListObject::Kind::Tuple));
}

}  // namespace

Value arithmetic(Interpreter& interpreter, const std::string& operation, const Value& left, const Value& right)
{
    if (isNumber(left) && isNumber(right)) {
        if (isInteger(left) && isInteger(right))
            return integerArithmetic(operation, integerOf(left), integerOf(right));
        return floatArithmetic(operation, numberOf(left), numberOf(right));
    }
    if (operation == "+" && asText(left) && asText(right)) {
        interpreter.chargeBytes(asText(left)->size() + asText(right)->size());
        Text joined = *asText(left);
        joined.append(*asText(right));
        return textValue(std::move(joined));
    }
    if (operation == "+" && isRepeatable(left) && isRepeatable(right) && !asText(left) && !asText(right)) {
        const ListObject& first = *std::get<ListObject*>(left);
        const ListObject& second = *std::get<ListObject*>(right);
        if (first.kind == second.kind) {
            interpreter.charge(first.items.size() + second.items.size());
            std::vector<Value> items = first.items;
            items.insert(items.end(), second.items.begin(), second.items.end());
            return interpreter.list(std::move(items), first.kind);
        }
    }
    if (operation == "*" && isRepeatable(left) && isInteger(right))
        return repeated(interpreter, left, integerOf(right));
    if (operation == "*" && isInteger(left) && isRepeatable(right))
        return repeated(interpreter, right, integerOf(left));
    if (operation == "%" && asText(left))
        return percentFormat(interpreter, *asText(left), right);
    failTypes(operation, left, right);
}

Value negative(const Value& value)
{
    if (isUndefined(value))
        failUndefined(value);
    if (const auto* number = std::get_if<double>(&value))
        return -*number;
    if (!isInteger(value))
        throw TemplateError{fmt::format("bad operand type for a sign: '{}'", typeName(value))};
    if (integerOf(value) == std::numeric_limits<std::int64_t>::min())
        failOverflow();
    return -integerOf(value);
}

}  // namespace tokenscope::jinja
