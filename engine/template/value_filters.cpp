// Filters on numbers and on what may be missing.
#include "engine/template/filters.h"

#include "engine/template/string_methods.h"
#include "engine/template/unicode.h"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace tokenscope::jinja {
namespace {

Value orDefault(Interpreter&, const Value& value, Arguments& given)
{
    const BoundArguments arguments("default", given, {"default_value", "boolean"});
    const bool replace = isUndefined(value) || (arguments.flag(1, false) && !isTrue(value));
    return replace ? (arguments.has(0) ? arguments.get(0) : textValue("")) : value;
}

// Digits with single underscores between them, as Python reads them; nullopt if it is not a number.
std::optional<std::string> plainNumber(std::string_view text)
{
    const Span span = stripped(text, true, true);
    text = text.substr(span.begin, span.end - span.begin);
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '_') {
            plain += text[i];
            continue;
        }
        const bool between = i > 0 && i + 1 < text.size() && std::isalnum(static_cast<unsigned char>(text[i - 1])) &&
                             std::isalnum(static_cast<unsigned char>(text[i + 1]));
        if (!between)
            return std::nullopt;
    }
    return plain.empty() ? std::nullopt : std::optional(plain);
}

std::optional<std::int64_t> parseInteger(std::string_view text, int base)
{
    const auto plain = plainNumber(text);
    if (!plain)
        return std::nullopt;
    std::string_view digits = *plain;
    const bool isNegative = digits[0] == '-';
    if (digits[0] == '-' || digits[0] == '+')
        digits.remove_prefix(1);
    const auto prefixed = [&](char letter) {
        return digits.size() > 2 && digits[0] == '0' && (digits[1] | 32) == letter;
    };
    if ((base == 16 && prefixed('x')) || (base == 8 && prefixed('o')) || (base == 2 && prefixed('b')))
        digits.remove_prefix(2);
    if (digits.empty() || digits[0] == '-')
        return std::nullopt;
    std::int64_t number = 0;
    std::string signedDigits(isNegative ? 1 : 0, '-');
    signedDigits += digits;
    const auto [end, status] =
        std::from_chars(signedDigits.data(), signedDigits.data() + signedDigits.size(), number, base);
    if (status == std::errc::result_out_of_range)
        throw TemplateError{"an integer does not fit in 64 bits"};
    if (status != std::errc() || end != signedDigits.data() + signedDigits.size())
        return std::nullopt;
    return number;
}

std::optional<double> parseFloat(std::string_view text)
{
    const auto plain = plainNumber(text);
    if (!plain ||
        plain->find_first_of("xXpP(") != std::string::npos)  // strtod reads hexadecimal and nan(…), Python does not
        return std::nullopt;
    char* end = nullptr;
    const double number = std::strtod(plain->c_str(), &end);
    return end == plain->c_str() + plain->size() ? std::optional(number) : std::nullopt;
}

std::optional<std::int64_t> truncated(double number)
{
    if (!std::isfinite(number) || std::abs(number) >= 9.2e18)
        return std::nullopt;
    return static_cast<std::int64_t>(number);
}

Value toInteger(Interpreter&, const Value& value, Arguments& given)
{
    const BoundArguments arguments("int", given, {"default", "base"});
    const Value otherwise = arguments.has(0) ? arguments.get(0) : Value(std::int64_t{0});
    if (isUndefined(value))
        failUndefined(value);
    if (isInteger(value))
        return integerOf(value);
    std::optional<std::int64_t> number;
    if (const auto* number64 = std::get_if<double>(&value)) {
        number = truncated(*number64);
    } else if (const Text* text = asText(value)) {
        const std::int64_t base = arguments.integer(1, 10);
        if (base < 2 || base > 36)
            throw TemplateError{"int: the base must be 2 to 36"};
        number = parseInteger(text->bytes(), static_cast<int>(base));
        if (!number) {
            const auto real = parseFloat(text->bytes());
            number = real ? truncated(*real) : std::nullopt;
        }
    }
    return number ? Value(*number) : otherwise;
}

Value toFloat(Interpreter&, const Value& value, Arguments& given)
{
    const BoundArguments arguments("float", given, {"default"});
    const Value otherwise = arguments.has(0) ? arguments.get(0) : Value(0.0);
    if (isUndefined(value))
        failUndefined(value);
    if (isNumber(value))
        return numberOf(value);
    const Text* text = asText(value);
    const auto number = text ? parseFloat(text->bytes()) : std::nullopt;
    return number ? Value(*number) : otherwise;
}

Value absolute(Interpreter&, const Value& value, Arguments& given)
{
    const BoundArguments arguments("abs", given, {});
    if (isUndefined(value))
        failUndefined(value);
    if (!isNumber(value))
        throw TemplateError{fmt::format("abs: bad operand type '{}'", typeName(value))};
    if (numberOf(value) < 0)
        return negative(value);
    return isInteger(value) ? Value(integerOf(value)) : value;
}

// Half to even on the exact binary value, as Python's round().
double rounded(double number, std::int64_t precision)
{
    if (!std::isfinite(number) || precision > 300)
        return number;
    if (precision < -300)
        return 0 * number;
    if (precision < 0) {
        const double scale = std::pow(10.0, static_cast<double>(-precision));
        return std::nearbyint(number / scale) * scale;
    }
    char text[700];
    std::snprintf(text, sizeof text, "%.*f", static_cast<int>(precision), number);
    return std::strtod(text, nullptr);
}

Value roundFilter(Interpreter& interpreter, const Value& value, Arguments& given)
{
    const BoundArguments arguments("round", given, {"precision", "method"});
    if (isUndefined(value))
        failUndefined(value);
    if (!isNumber(value))
        throw TemplateError{fmt::format("round: a {} cannot be rounded", typeName(value))};
    const std::int64_t precision = arguments.integer(0, 0);
    const std::string method = arguments.has(1) ? interpreter.str(arguments.get(1)).bytes() : "common";
    if (method == "common") {
        if (!isInteger(value))
            return rounded(numberOf(value), precision);
        if (precision >= 0)
            return integerOf(value);
        return static_cast<std::int64_t>(rounded(numberOf(value), precision));
    }
    if (method != "ceil" && method != "floor")
        throw TemplateError{"round: the method must be common, ceil or floor"};
    const double scale = std::pow(10.0, static_cast<double>(precision));
    const double scaled = numberOf(value) * scale;
    return (method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale;
}

}  // namespace

std::vector<NamedFilter> valueFilters()
{
    return {{"default", &orDefault}, {"d", &orDefault},  {"int", &toInteger},
            {"float", &toFloat},     {"abs", &absolute}, {"round", &roundFilter}};
}

}  // namespace tokenscope::jinja
