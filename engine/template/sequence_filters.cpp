#include "engine/template/filters.h"

#include "engine/template/string_methods.h"
#include "engine/template/unicode.h"

#include <fmt/format.h>

#include <algorithm>

namespace tokenscope::jinja {
namespace {

Value length(Interpreter& interpreter, const Value& value, Arguments& given)
{
    const BoundArguments arguments("length", given, {});
    if (isUndefined(value))
        return std::int64_t{0};
    if (const Text* text = asText(value)) {
        interpreter.charge(text->size() / 64);
        return static_cast<std::int64_t>(characterCount(text->bytes()));
    }
    if (const auto* list = std::get_if<ListObject*>(&value); list && (*list)->kind != ListObject::Kind::Iterator)
        return static_cast<std::int64_t>((*list)->items.size());
    if (const auto* dict = std::get_if<DictObject*>(&value))
        return static_cast<std::int64_t>((*dict)->entries.size());
    throw TemplateError{fmt::format("object of type '{}' has no length", typeName(value))};
}

Value first(Interpreter& interpreter, const Value& value, Arguments& given)
{
    const BoundArguments arguments("first", given, {});
    const std::vector<Value> items = interpreter.iterate(value);
    return items.empty() ? Value(Undefined{std::make_shared<const std::string>("No first item, sequence was empty.")})
                         : items.front();
}

void requireReversible(const char* filter, const Value& value)
{
    const auto* list = std::get_if<ListObject*>(&value);
    if (list && (*list)->kind == ListObject::Kind::Iterator)
        throw TemplateError{fmt::format("{}: a generator has no end to begin at; use |list before it", filter)};
}

Value last(Interpreter& interpreter, const Value& value, Arguments& given)
{
    const BoundArguments arguments("last", given, {});
    if (isUndefined(value))
        failUndefined(value);
    requireReversible("last", value);
    const std::vector<Value> items = interpreter.iterate(value);
    return items.empty() ? Value(Undefined{std::make_shared<const std::string>("No last item, sequence was empty.")})
                         : items.back();
}

Value toList(Interpreter& interpreter, const Value& value, Arguments& given)
{
    const BoundArguments arguments("list", given, {});
    return interpreter.list(interpreter.iterate(value));
}

Value reverse(Interpreter& interpreter, const Value& value, Arguments& given)
{
    const BoundArguments arguments("reverse", given, {});
    std::vector<Value> items = interpreter.iterate(value);
    std::ranges::reverse(items);
    if (!asText(value))
        return interpreter.list(std::move(items), ListObject::Kind::Iterator);
    Text out;
    for (const Value& item : items)
        out.append(*asText(item));
    return interpreter.text(std::move(out));
}

Value items(Interpreter& interpreter, const Value& value, Arguments& given)
{
    const BoundArguments arguments("items", given, {});
    if (isUndefined(value))
        return interpreter.list({}, ListObject::Kind::Iterator);
    const auto* dict = std::get_if<DictObject*>(&value);
    if (!dict)
        throw TemplateError{"Can only get item pairs from a mapping."};
    std::vector<Value> pairs;
    for (const auto& [key, element] : (*dict)->entries)
        pairs.push_back(interpreter.list({key, element}, ListObject::Kind::Tuple));
    return interpreter.list(std::move(pairs), ListObject::Kind::Iterator);
}

Value dictSort(Interpreter& interpreter, const Value& value, Arguments& given)
{
    const BoundArguments arguments("dictsort", given, {"case_sensitive", "by", "reverse"});
    if (isUndefined(value))
        failUndefined(value);
    const auto* dict = std::get_if<DictObject*>(&value);
    if (!dict)
        throw TemplateError{fmt::format("dictsort: '{}' is not a mapping", typeName(value))};
    const std::string by = arguments.textOr(1, "key").bytes();
    if (by != "key" && by != "value")
        throw TemplateError{"dictsort: by must be \"key\" or \"value\""};
    const bool caseSensitive = arguments.flag(0, false);
    std::vector<std::pair<Value, Value>> pairs;  // what to sort by, the pair
    for (const auto& [key, element] : (*dict)->entries)
        pairs.emplace_back(comparisonKey(by == "key" ? key : element, caseSensitive),
                           interpreter.list({key, element}, ListObject::Kind::Tuple));
    const bool descending = arguments.flag(2, false);
    std::ranges::stable_sort(pairs, [&](const auto& a, const auto& b) {
        interpreter.charge(1);
        return descending ? compare(interpreter, b.first, a.first) < 0 : compare(interpreter, a.first, b.first) < 0;
    });
    std::vector<Value> sorted;
    for (auto& [key, pair] : pairs)
        sorted.push_back(std::move(pair));
    return interpreter.list(std::move(sorted));
}

Value batch(Interpreter& interpreter, const Value& value, Arguments& given)
{
    const BoundArguments arguments("batch", given, {"linecount", "fill_with"});
    arguments.required(0);
    const std::int64_t size = arguments.integer(0, 0);
    const bool fills = arguments.has(1) && !std::holds_alternative<None>(arguments.get(1));
    std::vector<Value> rows;
    std::vector<Value> row;
    for (const Value& item : interpreter.iterate(value)) {
        if (static_cast<std::int64_t>(row.size()) == size) {
            rows.push_back(interpreter.list(std::exchange(row, {})));
        }
        row.push_back(item);
    }
    if (!row.empty()) {
        while (fills && static_cast<std::int64_t>(row.size()) < size) {
            interpreter.charge(1);
            row.push_back(arguments.get(1));
        }
        rows.push_back(interpreter.list(std::move(row)));
    }
    return interpreter.list(std::move(rows), ListObject::Kind::Iterator);
}

}  // namespace

std::vector<NamedFilter> sequenceFilters()
{
    return {{"length", &length},   {"count", &length}, {"first", &first},       {"last", &last},  {"list", &toList},
            {"reverse", &reverse}, {"items", &items},  {"dictsort", &dictSort}, {"batch", &batch}};
}

}  // namespace tokenscope::jinja
