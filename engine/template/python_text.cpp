#include "engine/template/python_text.h"

#include "engine/base/utf8.h"
#include "engine/template/unicode.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace tokenscope::jinja {
namespace {

constexpr int kMaxNesting = 100;

void check(int depth, const Text& out, std::size_t maxBytes)
{
    if (depth > kMaxNesting)
        throw TemplateError{fmt::format("a value nested more than {} deep cannot be printed", kMaxNesting)};
    if (out.size() > maxBytes)
        throw TemplateError{fmt::format("a printed value is longer than the limit of {} bytes", maxBytes)};
}

void appendQuoted(Text& out, const Text& text)
{
    const std::string& bytes = text.bytes();
    const bool hasSingle = bytes.find('\'') != std::string::npos;
    const char quote = hasSingle && bytes.find('"') == std::string::npos ? '"' : '\'';
    out.append(std::string_view(&quote, 1), false);
    for (std::size_t i = 0; i < bytes.size();) {
        const Utf8Step step = nextUtf8(bytes, i);
        const char32_t c = step.codePoint;
        const bool isData = text.isDataAt(i);
        if (c == '\\' || c == static_cast<char32_t>(quote))
            out.append(std::string("\\") + static_cast<char>(c), isData);
        else if (c == '\n')
            out.append("\\n", isData);
        else if (c == '\r')
            out.append("\\r", isData);
        else if (c == '\t')
            out.append("\\t", isData);
        else if (step.valid && isPrintable(c))
            out.append(text, i, i + step.bytes);
        else if (c < 0x100)
            out.append(fmt::format("\\x{:02x}", static_cast<unsigned>(c)), isData);
        else if (c < 0x10000)
            out.append(fmt::format("\\u{:04x}", static_cast<unsigned>(c)), isData);
        else
            out.append(fmt::format("\\U{:08x}", static_cast<unsigned>(c)), isData);
        i += step.bytes;
    }
    out.append(std::string_view(&quote, 1), false);
}

class Printer {
public:
    explicit Printer(std::size_t maxBytes) : m_maxBytes(maxBytes) {}

    void str(const Value& value)
    {
        if (const Text* text = asText(value))
            m_out.append(*text);
        else if (!isUndefined(value))
            repr(value, 0);
        check(0, m_out, m_maxBytes);
    }

    void repr(const Value& value, int depth)
    {
        check(depth, m_out, m_maxBytes);
        if (const Text* text = asText(value))
            appendQuoted(m_out, *text);
        else if (std::holds_alternative<None>(value))
            add("None");
        else if (isUndefined(value))
            add("Undefined");
        else if (const auto* boolean = std::get_if<bool>(&value))
            add(*boolean ? "True" : "False");
        else if (const auto* integer = std::get_if<std::int64_t>(&value))
            add(fmt::format("{}", *integer));
        else if (const auto* number = std::get_if<double>(&value))
            add(floatText(*number));
        else if (const auto* list = std::get_if<ListObject*>(&value))
            reprList(**list, depth);
        else if (const auto* dict = std::get_if<DictObject*>(&value))
            reprDict(**dict, depth);
        else
            throw TemplateError{fmt::format("a {} cannot be printed", typeName(value))};
    }

    Text take() { return std::move(m_out); }

private:
    void add(std::string_view text) { m_out.append(text, false); }

    void reprList(const ListObject& list, int depth)
    {
        using Kind = ListObject::Kind;
        if (list.kind == Kind::Iterator)
            throw TemplateError{"an iterator cannot be printed; use |list or |join"};
        if (list.kind == Kind::Range) {
            const std::int64_t first = list.items.empty() ? 0 : integerOf(list.items.front());
            add(fmt::format("range({}, {})", first, first + static_cast<std::int64_t>(list.items.size())));
            return;
        }
        if (list.kind == Kind::View)
            add("dict_view(");
        add(list.kind == Kind::Tuple ? "(" : "[");
        for (std::size_t i = 0; i < list.items.size(); ++i) {
            if (i > 0)
                add(", ");
            repr(list.items[i], depth + 1);
        }
        if (list.kind == Kind::Tuple)
            add(list.items.size() == 1 ? ",)" : ")");
        else
            add(list.kind == Kind::View ? "])" : "]");
    }

    void reprDict(const DictObject& dict, int depth)
    {
        add("{");
        bool first = true;
        for (const auto& [key, value] : dict.entries) {
            if (!first)
                add(", ");
            first = false;
            repr(key, depth + 1);
            add(": ");
            repr(value, depth + 1);
        }
        add("}");
    }

    Text m_out;
    const std::size_t m_maxBytes;
};

// Order of a dictionary's keys: strings or numbers, not both.
bool keyBefore(const Value& left, const Value& right)
{
    if (asText(left) && asText(right))
        return asText(left)->bytes() < asText(right)->bytes();
    if (isNumber(left) && isNumber(right))
        return numberOf(left) < numberOf(right);
    throw TemplateError{
        fmt::format("tojson: keys of types '{}' and '{}' have no order", typeName(left), typeName(right))};
}

class JsonWriter {
public:
    JsonWriter(const JsonStyle& style, std::size_t maxBytes) : m_style(style), m_maxBytes(maxBytes) {}

    void write(const Value& value, int depth)
    {
        check(depth, m_out, m_maxBytes);
        if (const Text* text = asText(value)) {
            string(*text);
        } else if (const auto* list = std::get_if<ListObject*>(&value);
                   list && ((*list)->kind == ListObject::Kind::List || (*list)->kind == ListObject::Kind::Tuple)) {
            const auto& items = (*list)->items;
            sequence('[', ']', items.size(), depth, [&](std::size_t i) { write(items[i], depth + 1); });
        } else if (const auto* dict = std::get_if<DictObject*>(&value)) {
            writeDict(**dict, depth);
        } else {
            scalar(value);
        }
    }

    Text take() { return std::move(m_out); }

private:
    void add(std::string_view text) { m_out.append(text, false); }

    void scalar(const Value& value)
    {
        if (std::holds_alternative<None>(value))
            add("null");
        else if (const auto* boolean = std::get_if<bool>(&value))
            add(*boolean ? "true" : "false");
        else if (const auto* number = std::get_if<double>(&value); number && !std::isfinite(*number))
            add(std::isnan(*number) ? "NaN" : *number > 0 ? "Infinity" : "-Infinity");
        else if (isNumber(value))
            m_out.append(strOf(value, m_maxBytes));
        else
            throw TemplateError{fmt::format("Object of type {} is not JSON serializable", typeName(value))};
    }

    void string(const Text& text)
    {
        const std::string& bytes = text.bytes();
        add("\"");
        for (std::size_t i = 0; i < bytes.size();) {
            const Utf8Step step = nextUtf8(bytes, i);
            const std::string escape = escaped(step.codePoint);
            if (escape.empty() && step.valid)
                m_out.append(text, i, i + step.bytes);
            else
                m_out.append(escape.empty() ? "\xEF\xBF\xBD" : escape, text.isDataAt(i));
            i += step.bytes;
        }
        add("\"");
        check(0, m_out, m_maxBytes);
    }

    std::string escaped(char32_t c) const  // "": as it is
    {
        switch (c) {
        case '"':
            return "\\\"";
        case '\\':
            return "\\\\";
        case '\n':
            return "\\n";
        case '\r':
            return "\\r";
        case '\t':
            return "\\t";
        case '\b':
            return "\\b";
        case '\f':
            return "\\f";
        default:
            break;
        }
        if (c < 0x20 || (c >= 0x7F && c < 0x10000 && m_style.asciiOnly))
            return c == 0x7F ? "" : fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        if (c >= 0x10000 && m_style.asciiOnly) {
            const unsigned offset = static_cast<unsigned>(c) - 0x10000;
            return fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (offset >> 10), 0xDC00 + (offset & 0x3FF));
        }
        return "";
    }

    void writeDict(const DictObject& dict, int depth)
    {
        std::vector<const std::pair<Value, Value>*> entries;
        for (const auto& entry : dict.entries)
            entries.push_back(&entry);
        if (m_style.sortKeys)
            std::ranges::stable_sort(entries,
                                     [](const auto* a, const auto* b) { return keyBefore(a->first, b->first); });
        sequence('{', '}', entries.size(), depth, [&](std::size_t i) {
            const Value& key = entries[i]->first;
            if (const Text* text = asText(key)) {
                string(*text);
            } else if (std::holds_alternative<ListObject*>(key)) {
                throw TemplateError{"keys must be str, int, float, bool or None, not tuple"};
            } else {
                add("\"");
                scalar(key);
                add("\"");
            }
            add(m_style.keySeparator);
            write(entries[i]->second, depth + 1);
        });
    }

    template <typename WriteItem>
    void sequence(char open, char close, std::size_t count, int depth, const WriteItem& writeItem)
    {
        add(std::string_view(&open, 1));
        for (std::size_t i = 0; i < count; ++i) {
            if (i > 0)
                add(m_style.itemSeparator);
            newLine(depth + 1);
            writeItem(i);
        }
        if (count > 0)
            newLine(depth);
        add(std::string_view(&close, 1));
    }

    void newLine(int depth)
    {
        if (m_style.indent >= 0)
            add("\n" + std::string(static_cast<std::size_t>(m_style.indent) * static_cast<std::size_t>(depth), ' '));
    }

    const JsonStyle& m_style;
    const std::size_t m_maxBytes;
    Text m_out;
};

}  // namespace

std::string floatText(double number)
{
    if (std::isnan(number))
        return "nan";
    if (std::isinf(number))
        return number > 0 ? "inf" : "-inf";
    const double magnitude = std::abs(number);
    // repr(): an exponent below 1e-4 and from 1e16 on, always a point or an exponent.
    const bool exponent = magnitude != 0 && (magnitude < 1e-4 || magnitude >= 1e16);
    char buffer[64];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, number,
                                   exponent ? std::chars_format::scientific : std::chars_format::fixed);
    std::string text(buffer, end.ptr);
    if (!exponent && text.find('.') == std::string::npos)
        text += ".0";
    return text;
}

Text strOf(const Value& value, std::size_t maxBytes)
{
    Printer printer(maxBytes);
    printer.str(value);
    return printer.take();
}

Text reprOf(const Value& value, std::size_t maxBytes)
{
    Printer printer(maxBytes);
    printer.repr(value, 0);
    return printer.take();
}

Text jsonOf(const Value& value, const JsonStyle& style, std::size_t maxBytes)
{
    JsonWriter writer(style, maxBytes);
    writer.write(value, 0);
    return writer.take();
}

}  // namespace tokenscope::jinja
