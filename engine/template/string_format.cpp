#include "engine/template/string_format.h"

#include "engine/template/python_text.h"
#include "engine/template/unicode.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>

namespace tokenscope::jinja {
namespace {

constexpr std::size_t kMaxWidth = 10'000;

struct Specification {
    std::string fill = " ";
    char align = 0;
    char sign = '-';
    bool alternate = false;
    bool comma = false;
    std::size_t width = 0;
    int precision = -1;
    char type = 0;
};

std::size_t readNumber(std::string_view text, std::size_t& at)
{
    std::size_t number = 0;
    while (at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) && number <= kMaxWidth)
        number = number * 10 + static_cast<std::size_t>(text[at++] - '0');
    if (number > kMaxWidth)
        throw TemplateError{fmt::format("a format's width or precision is above {}", kMaxWidth)};
    return number;
}

// [[fill]align][sign][#][0][width][,][.precision][type]
Specification parseSpecification(std::string_view text)
{
    Specification spec;
    std::size_t at = 0;
    const auto isAlign = [&](std::size_t i) {
        return i < text.size() && std::string_view("<>^=").find(text[i]) != std::string_view::npos;
    };
    const std::size_t fillBytes = text.empty() ? 0 : characterStarts(text)[1];
    if (fillBytes > 0 && isAlign(fillBytes)) {
        spec.fill = text.substr(0, fillBytes);
        spec.align = text[fillBytes];
        at = fillBytes + 1;
    } else if (isAlign(0)) {
        spec.align = text[at++];
    }
    if (at < text.size() && (text[at] == '+' || text[at] == '-' || text[at] == ' '))
        spec.sign = text[at++];
    if (at < text.size() && text[at] == '#') {
        spec.alternate = true;
        ++at;
    }
    if (at < text.size() && text[at] == '0') {
        ++at;
        if (!spec.align) {
            spec.fill = "0";
            spec.align = '=';
        }
    }
    spec.width = readNumber(text, at);
    if (at < text.size() && text[at] == ',') {
        spec.comma = true;
        ++at;
    }
    if (at < text.size() && text[at] == '.') {
        ++at;
        spec.precision = static_cast<int>(readNumber(text, at));
    }
    if (at < text.size())
        spec.type = text[at++];
    if (at != text.size())
        throw TemplateError{fmt::format("invalid format specification '{}'", text)};
    return spec;
}

Text padded(const Text& body, std::size_t signBytes, const Specification& spec, char defaultAlign)
{
    const std::size_t length = characterCount(body.bytes());
    if (length >= spec.width)
        return body;
    const std::size_t space = spec.width - length;
    const char align = spec.align ? spec.align : defaultAlign;
    const std::size_t left = align == '<' ? 0 : align == '^' ? space / 2 : space;
    Text out;
    const auto fill = [&](std::size_t count) {
        for (std::size_t i = 0; i < count; ++i)
            out.append(spec.fill, false);
    };
    const std::size_t head = align == '=' ? signBytes : 0;
    out.append(body, 0, head);
    fill(left);
    out.append(body, head, body.size());
    fill(space - left);
    return out;
}

std::string grouped(const std::string& digits)  // 1234567.8 → 1,234,567.8
{
    const std::size_t whole = std::min(digits.find_first_not_of("0123456789"), digits.size());
    std::string out;
    for (std::size_t i = 0; i < whole; ++i) {
        if (i > 0 && (whole - i) % 3 == 0)
            out += ',';
        out += digits[i];
    }
    return out + digits.substr(whole);
}

std::string formatted(const char* pattern, int precision, double number)
{
    const int bytes = std::snprintf(nullptr, 0, pattern, precision, number);
    std::string text(static_cast<std::size_t>(bytes) + 1, '\0');
    std::snprintf(text.data(), text.size(), pattern, precision, number);
    text.pop_back();
    return text;
}

std::string floatDigits(double magnitude, const Specification& spec)
{
    const int precision = spec.precision < 0 ? 6 : spec.precision;
    switch (spec.type) {
    case 'f':
    case 'F':
        return formatted("%.*f", precision, magnitude);
    case 'e':
        return formatted("%.*e", precision, magnitude);
    case 'E':
        return formatted("%.*E", precision, magnitude);
    case 'g':
        return formatted("%.*g", precision, magnitude);
    case 'G':
        return formatted("%.*G", precision, magnitude);
    case '%':
        return formatted("%.*f", precision, magnitude * 100) + "%";
    case 0: {
        if (spec.precision < 0)
            return floatText(magnitude);
        std::string text = formatted("%.*g", precision, magnitude);
        if (text.find_first_of(".en") == std::string::npos)
            text += ".0";
        return text;
    }
    default:
        throw TemplateError{fmt::format("unknown format code '{}' for a float", spec.type)};
    }
}

std::string integerDigits(std::uint64_t magnitude, const Specification& spec)
{
    switch (spec.type) {
    case 0:
    case 'd':
        return fmt::format("{}", magnitude);
    case 'x':
        return (spec.alternate ? "0x" : "") + fmt::format("{:x}", magnitude);
    case 'X':
        return (spec.alternate ? "0X" : "") + fmt::format("{:X}", magnitude);
    case 'o':
        return (spec.alternate ? "0o" : "") + fmt::format("{:o}", magnitude);
    case 'b':
        return (spec.alternate ? "0b" : "") + fmt::format("{:b}", magnitude);
    default:
        throw TemplateError{fmt::format("unknown format code '{}' for an integer", spec.type)};
    }
}

Text formatNumber(const Value& value, const Specification& spec)
{
    const bool asFloat = std::holds_alternative<double>(value) ||
                         (spec.type && std::string_view("fFeEgG%").find(spec.type) != std::string_view::npos);
    std::string digits;
    bool isNegative = false;
    if (asFloat) {
        const double number = numberOf(value);
        isNegative = std::signbit(number) && !std::isnan(number);
        digits = floatDigits(std::abs(number), spec);
    } else {
        const std::int64_t number = integerOf(value);
        isNegative = number < 0;
        digits = integerDigits(isNegative ? 0 - static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number),
                               spec);
    }
    if (spec.comma)
        digits = grouped(digits);
    const std::string sign = isNegative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
    return padded(Text(sign + digits), sign.size(), spec, '>');
}

Text formatValue(Interpreter& interpreter, const Value& value, const Specification& spec, bool plain)
{
    if (plain)
        return interpreter.str(value);
    if (isNumber(value) && !(std::holds_alternative<bool>(value) && !spec.type))
        return formatNumber(value, spec);
    if (!asText(value) && !std::holds_alternative<bool>(value))
        throw TemplateError{fmt::format("a {} takes no format specification", typeName(value))};
    if (spec.type && spec.type != 's')
        throw TemplateError{fmt::format("unknown format code '{}' for a string", spec.type)};
    Text text = interpreter.str(value);
    if (spec.precision >= 0) {
        const auto starts = characterStarts(text.bytes());
        text = text.slice(0, starts[std::min(static_cast<std::size_t>(spec.precision), starts.size() - 1)]);
    }
    return padded(text, 0, spec, '<');
}

// Which value a field names: "" the next, a number, or a name.
Value fieldValue(std::string_view field, const Arguments& arguments, std::size_t& next)
{
    std::size_t index = next;
    if (field.empty()) {
        ++next;
    } else if (std::ranges::all_of(field, [](unsigned char c) { return std::isdigit(c); })) {
        std::size_t at = 0;
        index = readNumber(field, at);
    } else {
        if (field.find_first_of(".[") != std::string_view::npos)
            throw TemplateError{fmt::format("format field '{}': attributes and items are not allowed there", field)};
        for (const auto& [name, value] : arguments.named) {
            if (name == field)
                return value;
        }
        throw TemplateError{fmt::format("format field '{}' has no value", field)};
    }
    if (index >= arguments.positional.size())
        throw TemplateError{
            fmt::format("format field {} is out of range: there are {} values", index, arguments.positional.size())};
    return arguments.positional[index];
}

}  // namespace

Value braceFormat(Interpreter& interpreter, const Text& pattern, const Arguments& arguments)
{
    const std::string_view text = pattern.bytes();
    Text out;
    std::size_t next = 0;
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t brace = std::min(text.find_first_of("{}", i), text.size());
        out.append(pattern, i, brace);
        i = brace;
        if (i == text.size())
            break;
        if (i + 1 < text.size() && text[i + 1] == text[i]) {  // {{ and }}
            out.append(pattern, i, i + 1);
            i += 2;
            continue;
        }
        const std::size_t end = text.find('}', i);
        if (text[i] == '}' || end == std::string_view::npos)
            throw TemplateError{"a single brace in a format string"};
        std::string_view field = text.substr(i + 1, end - i - 1);
        const std::size_t colon = field.find(':');
        const std::string_view specification = colon == std::string_view::npos ? "" : field.substr(colon + 1);
        field = field.substr(0, colon);
        char conversion = 0;
        if (field.size() >= 2 && field[field.size() - 2] == '!') {
            conversion = field.back();
            field.remove_suffix(2);
        }
        Value value = fieldValue(field, arguments, next);
        if (conversion == 'r')
            value = interpreter.text(reprOf(value, interpreter.maxTextBytes()));
        else if (conversion == 's')
            value = interpreter.text(interpreter.str(value));
        else if (conversion)
            throw TemplateError{fmt::format("unknown conversion '!{}' in a format field", conversion)};
        out.append(formatValue(interpreter, value, parseSpecification(specification), specification.empty()));
        interpreter.chargeBytes(out.size());
        i = end + 1;
    }
    return interpreter.text(std::move(out));
}

Value percentFormat(Interpreter& interpreter, const Text& pattern, const Value& values)
{
    const std::string_view text = pattern.bytes();
    const auto* tuple = std::get_if<ListObject*>(&values);
    const bool many = tuple && (*tuple)->kind == ListObject::Kind::Tuple;
    const auto* named = std::get_if<DictObject*>(&values);
    const std::vector<Value> positional = many ? (*tuple)->items : std::vector<Value>{values};
    std::size_t used = 0;
    Text out;
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t percent = std::min(text.find('%', i), text.size());
        out.append(pattern, i, percent);
        i = percent + 1;
        if (percent == text.size())
            break;
        if (i < text.size() && text[i] == '%') {
            out.append(pattern, i, i + 1);
            ++i;
            continue;
        }
        const Value* value = nullptr;
        if (i < text.size() && text[i] == '(') {
            const std::size_t close = text.find(')', i);
            if (!named || close == std::string_view::npos)
                throw TemplateError{"%(name) in a format needs a mapping"};
            value = (*named)->find(textValue(text.substr(i + 1, close - i - 1)));
            if (!value)
                throw TemplateError{fmt::format("format: no value named '{}'", text.substr(i + 1, close - i - 1))};
            i = close + 1;
        }
        Specification spec;
        for (; i < text.size() && std::string_view("-+ 0#").find(text[i]) != std::string_view::npos; ++i) {
            if (text[i] == '-')
                spec.align = '<';
            else if (text[i] == '0' && spec.align != '<') {
                spec.fill = "0";
                spec.align = '=';
            } else if (text[i] == '#')
                spec.alternate = true;
            else if (text[i] != '0')
                spec.sign = text[i];
        }
        if (spec.align == '<')
            spec.fill = " ";
        spec.width = readNumber(text, i);
        if (i < text.size() && text[i] == '.')
            spec.precision = static_cast<int>(readNumber(text, ++i));
        if (i == text.size())
            throw TemplateError{"incomplete format"};
        const char type = text[i++];
        if (!value) {
            if (used >= positional.size())
                throw TemplateError{"not enough arguments for format string"};
            value = &positional[used++];
        }
        if (type == 's' || type == 'r') {
            Specification textSpec = spec;
            textSpec.align = spec.align == '<' ? '<' : '>';
            textSpec.fill = " ";
            const Text printed = type == 's' ? interpreter.str(*value) : reprOf(*value, interpreter.maxTextBytes());
            out.append(formatValue(interpreter, textValue(printed), textSpec, false));
        } else {
            if (std::string_view("dixXofFeEgG").find(type) == std::string_view::npos)
                throw TemplateError{fmt::format("unsupported format character '{}'", type)};
            if (isUndefined(*value))
                failUndefined(*value);
            if (!isNumber(*value))
                throw TemplateError{fmt::format("%{} format: a number is required, not {}", type, typeName(*value))};
            const bool integerType = std::string_view("dixXo").find(type) != std::string_view::npos;
            spec.type = type == 'i' ? 'd' : type;
            if (integerType) {
                spec.precision = -1;
                const bool truncates =
                    std::holds_alternative<double>(*value) && spec.type == 'd' && std::abs(numberOf(*value)) < 9e18;
                if (std::holds_alternative<double>(*value) && !truncates)
                    throw TemplateError{fmt::format("%{} format: an integer is required, not float", type)};
                out.append(formatNumber(
                    truncates ? Value(static_cast<std::int64_t>(numberOf(*value))) : Value(integerOf(*value)), spec));
            } else {
                out.append(formatNumber(*value, spec));
            }
        }
        interpreter.chargeBytes(out.size());
    }
    if (!named && used < positional.size())
        throw TemplateError{"not all arguments converted during string formatting"};
    return interpreter.text(std::move(out));
}

}  // namespace tokenscope::jinja
