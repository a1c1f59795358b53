#include "engine/template/filters.h"

#include "engine/template/python_text.h"
#include "engine/template/string_format.h"
#include "engine/template/string_methods.h"
#include "engine/template/unicode.h"

#include <algorithm>

namespace tokenscope::jinja {
namespace {

template <Text (*Change)(const Text&)>
Value changed(Interpreter& interpreter, const Value& value, Arguments& given)
{
    const BoundArguments arguments("this filter", given, {});
    return interpreter.text(Change(interpreter.str(value)));
}

Text unchanged(const Text& text)
{
    return text;
}

Value trim(Interpreter& interpreter, const Value& value, Arguments& given)
{
    const BoundArguments arguments("trim", given, {"chars"});
    std::optional<Text> characters;
    if (arguments.has(0) && !std::holds_alternative<None>(arguments.get(0)))
        characters = arguments.textOr(0, "");
    return interpreter.text(strippedText(interpreter.str(value), characters, true, true));
}

// Unlike str.title(): a word begins behind white space and any of - ( { [ <.
Value title(Interpreter& interpreter, const Value& value, Arguments& given)
{
    const BoundArguments arguments("title", given, {});
    const Text text = interpreter.str(value);
    const auto starts = characterStarts(text.bytes());
    Text out;
    std::size_t wordBegin = 0;
    const auto finishWord = [&](std::size_t end) {
        if (end > wordBegin)
            out.append(capitalized(text.slice(wordBegin, end)));
    };
    for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
        const char32_t c = codePointAt(text.bytes(), starts[i]);
        const bool separates =
            isSpace(c) || (c < 0x80 && std::string_view("-({[<").find(static_cast<char>(c)) != std::string_view::npos);
        if (!separates)
            continue;
        finishWord(starts[i]);
        out.append(text, starts[i], starts[i + 1]);
        wordBegin = starts[i + 1];
    }
    finishWord(text.size());
    return interpreter.text(std::move(out));
}

Value replace(Interpreter& interpreter, const Value& value, Arguments& given)
{
    const BoundArguments arguments("replace", given, {"old", "new", "count"});
    const Text from = interpreter.str(arguments.required(0));
    const Text to = interpreter.str(arguments.required(1));
    return interpreter.text(replaced(interpreter, interpreter.str(value), from, to, arguments.integer(2, -1)));
}

Value split(Interpreter& interpreter, const Value& value, Arguments& given)
{
    const BoundArguments arguments("split", given, {"sep", "maxsplit"});
    std::optional<Text> separator;
    if (arguments.has(0) && !std::holds_alternative<None>(arguments.get(0)))
        separator = arguments.textOr(0, "");
    return splitText(interpreter, interpreter.str(value), separator, arguments.integer(1, -1));
}

// Every line but the first is moved right; empty lines only with `blank`.
Value indent(Interpreter& interpreter, const Value& value, Arguments& given)
{
    const BoundArguments arguments("indent", given, {"width", "first", "blank"});
    Text margin;
    if (arguments.has(0) && asText(arguments.get(0))) {
        margin = *asText(arguments.get(0));
    } else {
        const std::int64_t width = std::max<std::int64_t>(arguments.integer(0, 4), 0);
        interpreter.chargeBytes(static_cast<std::size_t>(width));
        margin = Text(std::string(static_cast<std::size_t>(width), ' '));
    }
    const bool first = arguments.flag(1, false);
    const bool blank = arguments.flag(2, false);
    const Text text = interpreter.str(value);
    Text out;
    std::size_t at = 0;
    for (bool firstLine = true;; firstLine = false) {
        const std::size_t newline = text.bytes().find('\n', at);
        const std::size_t end = newline == std::string::npos ? text.size() : newline;
        if (firstLine ? first : blank || end > at)
            out.append(margin);
        out.append(text, at, end);
        interpreter.chargeBytes(out.size() > interpreter.maxTextBytes() ? out.size() : margin.size());
        if (newline == std::string::npos)
            break;
        out.append(text, newline, newline + 1);
        at = newline + 1;
    }
    return interpreter.text(std::move(out));
}

Value format(Interpreter& interpreter, const Value& value, Arguments& given)
{
    const Text pattern = interpreter.str(value);
    if (!given.named.empty()) {
        DictObject* named = interpreter.dict();
        for (const auto& [name, argument] : given.named)
            named->set(textValue(name), argument);
        return percentFormat(interpreter, pattern, named);
    }
    return percentFormat(interpreter, pattern, interpreter.list(given.positional, ListObject::Kind::Tuple));
}

Value toJson(Interpreter& interpreter, const Value& value, Arguments& given)
{
    const BoundArguments arguments("tojson", given, {"ensure_ascii", "indent", "separators", "sort_keys"});
    JsonStyle style;
    style.asciiOnly = arguments.flag(0, false);
    style.indent = static_cast<int>(std::clamp<std::int64_t>(arguments.integer(1, -1), -1, 100));
    style.sortKeys = arguments.flag(3, false);
    if (style.indent >= 0)
        style.itemSeparator.assign(1, ',');
    if (arguments.has(2) && !std::holds_alternative<None>(arguments.get(2))) {
        const std::vector<Value> separators = interpreter.iterate(arguments.get(2));
        if (separators.size() != 2 || !asText(separators[0]) || !asText(separators[1]))
            throw TemplateError{"tojson: separators must be two strings"};
        style.itemSeparator = asText(separators[0])->bytes();
        style.keySeparator = asText(separators[1])->bytes();
    }
    return interpreter.text(jsonOf(value, style, interpreter.maxTextBytes()));
}

}  // namespace

std::vector<NamedFilter> textFilters()
{
    return {
        {"trim", &trim},
        {"upper", &changed<upperText>},
        {"lower", &changed<lowerText>},
        {"capitalize", &changed<capitalized>},
        {"title", &title},
        {"string", &changed<unchanged>},
        {"safe", &changed<unchanged>},
        {"replace", &replace},
        {"split", &split},
        {"indent", &indent},
        {"format", &format},
        {"tojson", &toJson},
    };
}

}  // namespace tokenscope::jinja
