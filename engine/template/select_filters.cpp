#include "engine/template/filters.h"

#include "engine/template/string_methods.h"

#include <fmt/format.h>

#include <algorithm>

namespace tokenscope::jinja {
namespace {

Value iterator(Interpreter& interpreter, std::vector<Value> items)
{
    return interpreter.list(std::move(items), ListObject::Kind::Iterator);
}

std::string takeName(const char* filter, Arguments& given, const char* what)
{
    if (given.positional.empty() || !asText(given.positional[0]))
        throw TemplateError{fmt::format("{} needs the name of a {}", filter, what)};
    std::string name = asText(given.positional[0])->bytes();
    given.positional.erase(given.positional.begin());
    return name;
}

// map('upper'), map('replace', 'a', 'b'), map(attribute='role'), map(attribute='x', default='').
Value map(Interpreter& interpreter, const Value& value, Arguments& given)
{
    const bool byAttribute = given.positional.empty() && !given.named.empty();
    std::vector<Value> mapped;
    if (byAttribute) {
        const BoundArguments arguments("map", given, {"attribute", "default"});
        const Value path = arguments.required(0);
        const Value otherwise = arguments.get(1);
        const bool hasOtherwise = arguments.has(1) && !std::holds_alternative<None>(otherwise);
        for (const Value& item : interpreter.iterate(value))
            mapped.push_back(attributeByPath(interpreter, item, path, hasOtherwise ? &otherwise : nullptr));
        return iterator(interpreter, std::move(mapped));
    }
    const std::string name = takeName("map", given, "filter");
    for (const Value& item : interpreter.iterate(value)) {
        Arguments arguments = given;
        mapped.push_back(interpreter.filter(name, item, arguments));
    }
    return iterator(interpreter, std::move(mapped));
}

template <bool wanted, bool byAttribute>
Value select(Interpreter& interpreter, const Value& value, Arguments& given)
{
    Value path = Undefined{};
    if (byAttribute) {
        if (given.positional.empty())
            throw TemplateError{"selectattr and rejectattr need the name of an attribute"};
        path = given.positional[0];
        given.positional.erase(given.positional.begin());
    }
    const bool byTest = !given.positional.empty();
    const std::string name = byTest ? takeName("select", given, "test") : "";
    std::vector<Value> selected;
    for (const Value& item : interpreter.iterate(value)) {
        const Value tested = byAttribute ? attributeByPath(interpreter, item, path) : item;
        Arguments arguments = given;
        if ((byTest ? interpreter.test(name, tested, arguments) : isTrue(tested)) == wanted)
            selected.push_back(item);
    }
    return iterator(interpreter, std::move(selected));
}

Value join(Interpreter& interpreter, const Value& value, Arguments& given)
{
    const BoundArguments arguments("join", given, {"d", "attribute"});
    std::vector<Text> parts;
    for (const Value& item : interpreter.iterate(value)) {
        const bool byAttribute = arguments.has(1) && !std::holds_alternative<None>(arguments.get(1));
        parts.push_back(interpreter.str(byAttribute ? attributeByPath(interpreter, item, arguments.get(1)) : item));
    }
    return interpreter.text(joined(interpreter, arguments.has(0) ? interpreter.str(arguments.get(0)) : Text(), parts));
}

Value sum(Interpreter& interpreter, const Value& value, Arguments& given)
{
    const BoundArguments arguments("sum", given, {"attribute", "start"});
    const bool byAttribute = arguments.has(0) && !std::holds_alternative<None>(arguments.get(0));
    Value total = arguments.has(1) ? arguments.get(1) : Value(std::int64_t{0});
    if (asText(total))
        throw TemplateError{"sum: strings cannot be summed; use |join"};
    for (const Value& item : interpreter.iterate(value))
        total = arithmetic(interpreter, "+", total,
                           byAttribute ? attributeByPath(interpreter, item, arguments.get(0)) : item);
    return total;
}

struct Keyed {
    Value key;
    Value item;
};

std::vector<Keyed> keyed(Interpreter& interpreter, const Value& value, const Value& path, bool caseSensitive)
{
    std::vector<Keyed> result;
    for (const Value& item : interpreter.iterate(value)) {
        const bool byAttribute = !isUndefined(path) && !std::holds_alternative<None>(path);
        if (!byAttribute || !asText(path) || asText(path)->bytes().find(',') == std::string::npos) {
            result.push_back(
                {comparisonKey(byAttribute ? attributeByPath(interpreter, item, path) : item, caseSensitive), item});
            continue;
        }
        std::vector<Value> keys;  // "a,b": by a, then by b
        const Value paths = splitText(interpreter, *asText(path), Text(","), -1);
        for (const Value& part : std::get<ListObject*>(paths)->items)
            keys.push_back(comparisonKey(attributeByPath(interpreter, item, part), caseSensitive));
        result.push_back({interpreter.list(std::move(keys)), item});
    }
    return result;
}

Value sort(Interpreter& interpreter, const Value& value, Arguments& given)
{
    const BoundArguments arguments("sort", given, {"reverse", "case_sensitive", "attribute"});
    std::vector<Keyed> items = keyed(interpreter, value, arguments.get(2), arguments.flag(1, false));
    const bool descending = arguments.flag(0, false);
    std::ranges::stable_sort(items, [&](const Keyed& a, const Keyed& b) {
        interpreter.charge(1);
        return descending ? compare(interpreter, b.key, a.key) < 0 : compare(interpreter, a.key, b.key) < 0;
    });
    std::vector<Value> sorted;
    for (Keyed& item : items)
        sorted.push_back(std::move(item.item));
    return interpreter.list(std::move(sorted));
}

Value unique(Interpreter& interpreter, const Value& value, Arguments& given)
{
    const BoundArguments arguments("unique", given, {"case_sensitive", "attribute"});
    std::vector<Value> kept;
    DictObject seen;
    for (const Keyed& item : keyed(interpreter, value, arguments.get(1), arguments.flag(0, false))) {
        if (seen.find(item.key))
            continue;
        seen.set(item.key, None{});
        kept.push_back(item.item);
    }
    return iterator(interpreter, std::move(kept));
}

template <int wanted>
Value extreme(Interpreter& interpreter, const Value& value, Arguments& given)
{
    const BoundArguments arguments("min and max", given, {"case_sensitive", "attribute"});
    const std::vector<Keyed> items = keyed(interpreter, value, arguments.get(1), arguments.flag(0, false));
    if (items.empty())
        return Undefined{std::make_shared<const std::string>("No aggregated item, sequence was empty.")};
    const Keyed* best = &items[0];
    for (const Keyed& item : items) {
        if (compare(interpreter, item.key, best->key) * wanted > 0)
            best = &item;
    }
    return best->item;
}

}  // namespace

std::vector<NamedFilter> selectFilters()
{
    return {
        {"map", &map},
        {"select", &select<true, false>},
        {"reject", &select<false, false>},
        {"selectattr", &select<true, true>},
        {"rejectattr", &select<false, true>},
        {"join", &join},
        {"sum", &sum},
        {"sort", &sort},
        {"unique", &unique},
        {"min", &extreme<-1>},
        {"max", &extreme<1>},
    };
}

}  // namespace tokenscope::jinja
