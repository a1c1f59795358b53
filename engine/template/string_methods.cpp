#include "engine/template/string_methods.h"

#include "engine/base/utf8.h"
#include "engine/template/string_format.h"
#include "engine/template/unicode.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace tokenscope::jinja {
namespace {

// Σ at the end of a word is ς: a letter before it, none behind it.
bool isFinalSigma(std::string_view text, std::size_t begin, std::size_t end)
{
    const auto isCased = [](char32_t c) { return isUpper(c) || isLower(c); };
    std::size_t previous = begin;
    while (previous > 0 && (static_cast<unsigned char>(text[--previous]) & 0xC0) == 0x80) {
    }
    const bool before = begin > 0 && isCased(nextUtf8(text, previous).codePoint);
    return before && (end == text.size() || !isCased(nextUtf8(text, end).codePoint));
}

template <typename Map>
Text mapped(const Text& text, const Map& map)
{
    Text out;
    const std::string& bytes = text.bytes();
    for (std::size_t i = 0; i < bytes.size();) {
        const Utf8Step step = nextUtf8(bytes, i);
        if (step.valid)
            out.append(map(step.codePoint, i, i + step.bytes), text.isDataAt(i));
        else
            out.append(text, i, i + step.bytes);
        i += step.bytes;
    }
    return out;
}

std::string lowerAt(const Text& text, char32_t c, std::size_t begin, std::size_t end)
{
    return c == 0x3A3 && isFinalSigma(text.bytes(), begin, end) ? "\u03C2" : lowerOf(c);
}

const Text& self(const Value& value)
{
    return *asText(value);
}

std::optional<Text> optionalText(const BoundArguments& arguments, std::size_t parameter)
{
    if (!arguments.has(parameter) || std::holds_alternative<None>(arguments.get(parameter)))
        return std::nullopt;
    return arguments.textOr(parameter, "");
}

Value strip(Interpreter& interpreter, const Value& value, Arguments& given, bool left, bool right)
{
    const BoundArguments arguments("strip()", given, {"chars"});
    return interpreter.text(strippedText(self(value), optionalText(arguments, 0), left, right));
}

Value startsOrEnds(const char* name, const Value& value, Arguments& given, bool start)
{
    const BoundArguments arguments(name, given, {"affix"});
    const Value affixes = arguments.required(0);
    const auto* tuple = std::get_if<ListObject*>(&affixes);
    const bool many = tuple && (*tuple)->kind == ListObject::Kind::Tuple;
    for (const Value& affix : many ? (*tuple)->items : std::vector<Value>{affixes}) {
        const Text* text = asText(affix);
        if (!text)
            throw TemplateError{fmt::format("{} needs a string or a tuple of strings, not {}", name, typeName(affix))};
        if (start ? self(value).bytes().starts_with(text->bytes()) : self(value).bytes().ends_with(text->bytes()))
            return true;
    }
    return false;
}

Value find(const Value& value, Arguments& given, bool last)
{
    const BoundArguments arguments("find()", given, {"sub"});
    const std::string wanted = (arguments.required(0), arguments.textOr(0, "").bytes());
    const std::string& bytes = self(value).bytes();
    const std::size_t at = last ? bytes.rfind(wanted) : bytes.find(wanted);
    if (at == std::string::npos)
        return std::int64_t{-1};
    return static_cast<std::int64_t>(characterCount(std::string_view(bytes).substr(0, at)));
}

Value count(Interpreter& interpreter, const Value& value, Arguments& given)
{
    const BoundArguments arguments("count()", given, {"sub"});
    const std::string wanted = (arguments.required(0), arguments.textOr(0, "").bytes());
    const std::string& bytes = self(value).bytes();
    interpreter.charge(bytes.size() / 64);
    if (wanted.empty())
        return static_cast<std::int64_t>(characterCount(bytes)) + 1;
    std::int64_t found = 0;
    for (std::size_t at = bytes.find(wanted); at != std::string::npos; at = bytes.find(wanted, at + wanted.size()))
        ++found;
    return found;
}

Value replace(Interpreter& interpreter, const Value& value, Arguments& given)
{
    const BoundArguments arguments("replace()", given, {"old", "new", "count"});
    arguments.required(1);
    return interpreter.text(
        replaced(interpreter, self(value), arguments.textOr(0, ""), arguments.textOr(1, ""), arguments.integer(2, -1)));
}

Value split(Interpreter& interpreter, const Value& value, Arguments& given)
{
    const BoundArguments arguments("split()", given, {"sep", "maxsplit"});
    return splitText(interpreter, self(value), optionalText(arguments, 0), arguments.integer(1, -1));
}

Value join(Interpreter& interpreter, const Value& value, Arguments& given)
{
    const BoundArguments arguments("join()", given, {"iterable"});
    std::vector<Text> parts;
    for (const Value& item : interpreter.iterate(arguments.required(0))) {
        if (!asText(item))
            throw TemplateError{fmt::format("join() needs strings, found {}", typeName(item))};
        parts.push_back(*asText(item));
    }
    return interpreter.text(joined(interpreter, self(value), parts));
}

template <Text (*Change)(const Text&)>
Value changed(Interpreter& interpreter, const Value& value, Arguments& given)
{
    const BoundArguments arguments("this method", given, {});
    interpreter.chargeBytes(self(value).size());
    return interpreter.text(Change(self(value)));
}

}  // namespace

Text upperText(const Text& text)
{
    return mapped(text, [](char32_t c, std::size_t, std::size_t) { return upperOf(c); });
}

Text lowerText(const Text& text)
{
    return mapped(text, [&](char32_t c, std::size_t begin, std::size_t end) { return lowerAt(text, c, begin, end); });
}

Text capitalized(const Text& text)
{
    return mapped(text, [&](char32_t c, std::size_t begin, std::size_t end) {
        return begin == 0 ? (c == 0xDF ? "Ss" : upperOf(c)) : lowerAt(text, c, begin, end);
    });
}

Text pythonTitle(const Text& text)
{
    bool insideWord = false;
    return mapped(text, [&](char32_t c, std::size_t begin, std::size_t end) {
        const bool cased = isUpper(c) || isLower(c);
        std::string letter = insideWord ? lowerAt(text, c, begin, end) : c == 0xDF ? "Ss" : upperOf(c);
        insideWord = cased;
        return letter;
    });
}

Text replaced(Interpreter& interpreter, const Text& text, const Text& from, const Text& to, std::int64_t count)
{
    const std::string& bytes = text.bytes();
    Text out;
    std::size_t at = 0;
    for (std::int64_t done = 0; count < 0 || done < count; ++done) {
        // An empty string stands before every character and at the end.
        const bool everywhere = from.empty();
        const std::size_t found = everywhere ? (done == 0           ? 0
                                                : at < bytes.size() ? at + nextUtf8(bytes, at).bytes
                                                                    : std::string::npos)
                                             : bytes.find(from.bytes(), at);
        if (found == std::string::npos)
            break;
        out.append(text, at, found);
        out.append(to);
        interpreter.chargeBytes(out.size() > interpreter.maxTextBytes() ? out.size() : to.size());
        at = found + from.size();
    }
    out.append(text, at, text.size());
    return out;
}

Value splitText(Interpreter& interpreter, const Text& text, const std::optional<Text>& separator,
                std::int64_t maxSplits)
{
    const std::string& bytes = text.bytes();
    std::vector<Value> parts;
    const auto mayGoOn = [&] { return maxSplits < 0 || static_cast<std::int64_t>(parts.size()) < maxSplits; };
    std::size_t at = 0;
    if (separator) {
        if (separator->empty())
            throw TemplateError{"empty separator"};
        for (std::size_t found = bytes.find(separator->bytes()); found != std::string::npos && mayGoOn();
             found = bytes.find(separator->bytes(), at)) {
            parts.push_back(textValue(text.slice(at, found)));
            at = found + separator->size();
        }
        parts.push_back(textValue(text.slice(at, text.size())));
    } else {
        const auto isSpaceAt = [&](std::size_t i) { return isSpace(nextUtf8(bytes, i).codePoint); };
        const auto skip = [&](bool space) {
            while (at < bytes.size() && isSpaceAt(at) == space)
                at += nextUtf8(bytes, at).bytes;
        };
        for (skip(true); at < bytes.size(); skip(true)) {
            const std::size_t begin = at;
            if (!mayGoOn()) {
                parts.push_back(textValue(text.slice(begin, bytes.size())));
                break;
            }
            skip(false);
            parts.push_back(textValue(text.slice(begin, at)));
        }
    }
    interpreter.charge(1 + bytes.size() / 64);
    return interpreter.list(std::move(parts));
}

Text joined(Interpreter& interpreter, const Text& separator, const std::vector<Text>& parts)
{
    Text out;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (i > 0)
            out.append(separator);
        out.append(parts[i]);
        interpreter.chargeBytes(out.size() > interpreter.maxTextBytes() ? out.size()
                                                                        : parts[i].size() + separator.size());
    }
    return out;
}

Text strippedText(const Text& text, const std::optional<Text>& characters, bool left, bool right)
{
    const Span span =
        characters ? strippedOf(text.bytes(), characters->bytes(), left, right) : stripped(text.bytes(), left, right);
    return text.slice(span.begin, span.end);
}

Method findStringMethod(std::string_view name)
{
    using Pair = std::pair<std::string_view, Method>;
    static const Pair kMethods[] = {
        {"strip", [](Interpreter& i, const Value& v, Arguments& a) { return strip(i, v, a, true, true); }},
        {"lstrip", [](Interpreter& i, const Value& v, Arguments& a) { return strip(i, v, a, true, false); }},
        {"rstrip", [](Interpreter& i, const Value& v, Arguments& a) { return strip(i, v, a, false, true); }},
        {"split", &split},
        {"startswith",
         [](Interpreter&, const Value& v, Arguments& a) { return startsOrEnds("startswith()", v, a, true); }},
        {"endswith",
         [](Interpreter&, const Value& v, Arguments& a) { return startsOrEnds("endswith()", v, a, false); }},
        {"replace", &replace},
        {"upper", &changed<upperText>},
        {"lower", &changed<lowerText>},
        {"title", &changed<pythonTitle>},
        {"capitalize", &changed<capitalized>},
        {"find", [](Interpreter&, const Value& v, Arguments& a) { return find(v, a, false); }},
        {"rfind", [](Interpreter&, const Value& v, Arguments& a) { return find(v, a, true); }},
        {"count", &count},
        {"join", &join},
        {"format", [](Interpreter& i, const Value& v, Arguments& a) { return braceFormat(i, self(v), a); }},
    };
    const auto found = std::ranges::find(kMethods, name, &Pair::first);
    return found == std::end(kMethods) ? nullptr : found->second;
}

}  // namespace tokenscope::jinja
