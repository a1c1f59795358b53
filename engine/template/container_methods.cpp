// Methods of lists and dicts, and what `loop` offers.
#include "engine/template/interpreter.h"

#include <fmt/format.h>

#include <algorithm>

namespace tokenscope::jinja {
namespace {

ListObject& mutableList(const Value& value, const char* method)
{
    ListObject& list = *std::get<ListObject*>(value);
    if (list.kind != ListObject::Kind::List)
        throw TemplateError{fmt::format("'{}' object has no method '{}'", typeName(value), method)};
    return list;
}

Value append(Interpreter& interpreter, const Value& value, Arguments& given)
{
    const BoundArguments arguments("append()", given, {"object"});
    interpreter.charge(1);
    mutableList(value, "append").items.push_back(arguments.required(0));
    return None{};
}

Value extend(Interpreter& interpreter, const Value& value, Arguments& given)
{
    const BoundArguments arguments("extend()", given, {"iterable"});
    const std::vector<Value> more = interpreter.iterate(arguments.required(0));
    auto& items = mutableList(value, "extend").items;
    items.insert(items.end(), more.begin(), more.end());
    return None{};
}

Value insert(Interpreter& interpreter, const Value& value, Arguments& given)
{
    const BoundArguments arguments("insert()", given, {"index", "object"});
    auto& items = mutableList(value, "insert").items;
    interpreter.charge(1 + items.size() / 64);
    const auto count = static_cast<std::int64_t>(items.size());
    std::int64_t index = arguments.integer(0, 0);
    index = std::clamp<std::int64_t>(index < 0 ? std::max(index, -count) + count : index, 0, count);
    items.insert(items.begin() + index, arguments.required(1));
    return None{};
}

Value popList(Interpreter& interpreter, const Value& value, Arguments& given)
{
    const BoundArguments arguments("pop()", given, {"index"});
    auto& items = mutableList(value, "pop").items;
    interpreter.charge(1 + items.size() / 64);
    const auto count = static_cast<std::int64_t>(items.size());
    std::int64_t index = arguments.integer(0, -1);
    index += index < 0 && index >= -count ? count : 0;
    if (index < 0 || index >= count)
        throw TemplateError{count == 0 ? "pop from empty list" : "pop index out of range"};
    Value taken = items[static_cast<std::size_t>(index)];
    items.erase(items.begin() + index);
    return taken;
}

Value indexOf(Interpreter& interpreter, const Value& value, Arguments& given)
{
    const BoundArguments arguments("index()", given, {"value"});
    const auto& items = std::get<ListObject*>(value)->items;
    const Value wanted = arguments.required(0);
    interpreter.charge(items.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (equals(interpreter, items[i], wanted))
            return static_cast<std::int64_t>(i);
    }
    throw TemplateError{"index(): the value is not in the list"};
}

Value countOf(Interpreter& interpreter, const Value& value, Arguments& given)
{
    const BoundArguments arguments("count()", given, {"value"});
    const auto& items = std::get<ListObject*>(value)->items;
    const Value wanted = arguments.required(0);
    interpreter.charge(items.size());
    return static_cast<std::int64_t>(
        std::ranges::count_if(items, [&](const Value& item) { return equals(interpreter, item, wanted); }));
}

DictObject& dictOf(const Value& value)
{
    return *std::get<DictObject*>(value);
}

Value get(Interpreter&, const Value& value, Arguments& given)
{
    const BoundArguments arguments("get()", given, {"key", "default"});
    const Value* found = dictOf(value).find(arguments.required(0));
    return found ? *found : arguments.has(1) ? arguments.get(1) : Value(None{});
}

Value items(Interpreter& interpreter, const Value& value, Arguments& given)
{
    const BoundArguments arguments("items()", given, {});
    std::vector<Value> pairs;
    for (const auto& [key, element] : dictOf(value).entries)
        pairs.push_back(interpreter.list({key, element}, ListObject::Kind::Tuple));
    return interpreter.list(std::move(pairs), ListObject::Kind::View);
}

Value keys(Interpreter& interpreter, const Value& value, Arguments& given)
{
    const BoundArguments arguments("keys()", given, {});
    return interpreter.list(interpreter.iterate(value), ListObject::Kind::View);
}

Value values(Interpreter& interpreter, const Value& value, Arguments& given)
{
    const BoundArguments arguments("values()", given, {});
    std::vector<Value> elements;
    for (const auto& [key, element] : dictOf(value).entries)
        elements.push_back(element);
    return interpreter.list(std::move(elements), ListObject::Kind::View);
}

Value update(Interpreter& interpreter, const Value& value, Arguments& given)
{
    if (given.positional.size() > 1)
        throw TemplateError{"update() takes at most one mapping"};
    if (!given.positional.empty()) {
        const auto* other = std::get_if<DictObject*>(&given.positional[0]);
        if (!other)
            throw TemplateError{fmt::format("update() needs a mapping, not {}", typeName(given.positional[0]))};
        const auto entries = (*other)->entries;  // a copy: it may be the same dict
        interpreter.charge(entries.size());
        for (const auto& [key, element] : entries)
            dictOf(value).set(key, element);
    }
    for (const auto& [key, element] : given.named)
        dictOf(value).set(textValue(key), element);
    return None{};
}

Value popDict(Interpreter& interpreter, const Value& value, Arguments& given)
{
    const BoundArguments arguments("pop()", given, {"key", "default"});
    const Value key = arguments.required(0);
    interpreter.charge(1 + dictOf(value).entries.size());
    if (const Value* found = dictOf(value).find(key)) {
        Value taken = *found;
        dictOf(value).erase(key);
        return taken;
    }
    if (arguments.has(1))
        return arguments.get(1);
    throw TemplateError{"pop(): the key is not in the dict"};
}

Value setDefault(Interpreter&, const Value& value, Arguments& given)
{
    const BoundArguments arguments("setdefault()", given, {"key", "default"});
    const Value key = arguments.required(0);
    if (const Value* found = dictOf(value).find(key))
        return *found;
    const Value made = arguments.has(1) ? arguments.get(1) : Value(None{});
    dictOf(value).set(key, made);
    return made;
}

Value copy(Interpreter& interpreter, const Value& value, Arguments& given)
{
    const BoundArguments arguments("copy()", given, {});
    if (std::holds_alternative<ListObject*>(value))
        return interpreter.list(mutableList(value, "copy").items);
    DictObject* made = interpreter.dict();
    interpreter.charge(dictOf(value).entries.size());
    *made = dictOf(value);
    return made;
}

template <std::size_t count>
Method findIn(const std::pair<std::string_view, Method> (&methods)[count], std::string_view name)
{
    const auto found = std::ranges::find(methods, name, &std::pair<std::string_view, Method>::first);
    return found == std::end(methods) ? nullptr : found->second;
}

}  // namespace

Method findListMethod(std::string_view name)
{
    static const std::pair<std::string_view, Method> kMethods[] = {
        {"append", &append}, {"extend", &extend}, {"insert", &insert}, {"pop", &popList},
        {"index", &indexOf}, {"count", &countOf}, {"copy", &copy},
    };
    return findIn(kMethods, name);
}

Method findDictMethod(std::string_view name)
{
    static const std::pair<std::string_view, Method> kMethods[] = {
        {"get", &get},     {"items", &items},           {"keys", &keys}, {"values", &values}, {"update", &update},
        {"pop", &popDict}, {"setdefault", &setDefault}, {"copy", &copy},
    };
    return findIn(kMethods, name);
}

Value loopAttribute(Interpreter& interpreter, LoopObject& loop, const std::string& name)
{
    const auto index0 = static_cast<std::int64_t>(loop.index0);
    const auto length = static_cast<std::int64_t>(loop.items.size());
    if (name == "index")
        return index0 + 1;
    if (name == "index0")
        return index0;
    if (name == "revindex")
        return length - index0;
    if (name == "revindex0")
        return length - index0 - 1;
    if (name == "first")
        return index0 == 0;
    if (name == "last")
        return index0 + 1 == length;
    if (name == "length")
        return length;
    if (name == "depth")
        return static_cast<std::int64_t>(loop.depth);
    if (name == "depth0")
        return static_cast<std::int64_t>(loop.depth - 1);
    if (name == "previtem")
        return index0 > 0 ? loop.items[loop.index0 - 1]
                          : Value(Undefined{std::make_shared<const std::string>("there is no previous item")});
    if (name == "nextitem")
        return index0 + 1 < length ? loop.items[loop.index0 + 1]
                                   : Value(Undefined{std::make_shared<const std::string>("there is no next item")});
    if (name == "cycle")
        return interpreter.callable(name, [&loop](Interpreter&, Arguments& arguments) {
            if (arguments.positional.empty())
                throw TemplateError{"no items for cycling given"};
            return arguments.positional[loop.index0 % arguments.positional.size()];
        });
    if (name == "changed")
        return interpreter.callable(name, [&loop](Interpreter& self, Arguments& arguments) -> Value {
            const auto& now = arguments.positional;
            const bool same = loop.hasChanged &&
                              std::ranges::equal(now, loop.lastChanged,
                                                 [&](const Value& a, const Value& b) { return equals(self, a, b); });
            loop.hasChanged = true;
            loop.lastChanged = now;
            return !same;
        });
    return Undefined{};
}

}  // namespace tokenscope::jinja
