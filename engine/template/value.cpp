#include "engine/template/value.h"

#include "engine/template/interpreter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tokenscope::jinja {
namespace {

constexpr int kMaxNesting = 100;

void checkNesting(int depth)
{
    if (depth > kMaxNesting)
        throw TemplateError{fmt::format("values are nested more than {} deep", kMaxNesting)};
}

const std::vector<Value>* sequenceItems(const Value& value)
{
    const auto* list = std::get_if<ListObject*>(&value);
    return list ? &(*list)->items : nullptr;
}

}  // namespace

const Text* asText(const Value& value)
{
    const auto* text = std::get_if<TextPointer>(&value);
    return text ? text->get() : nullptr;
}

bool isUndefined(const Value& value)
{
    return std::holds_alternative<Undefined>(value);
}

bool isTrue(const Value& value)
{
    if (isUndefined(value) || std::holds_alternative<None>(value))
        return false;
    if (const auto* boolean = std::get_if<bool>(&value))
        return *boolean;
    if (const auto* integer = std::get_if<std::int64_t>(&value))
        return *integer != 0;
    if (const auto* number = std::get_if<double>(&value))
        return *number != 0;
    if (const Text* text = asText(value))
        return !text->empty();
    if (const auto* list = std::get_if<ListObject*>(&value))
        return (*list)->kind == ListObject::Kind::Iterator || !(*list)->items.empty();
    if (const auto* dict = std::get_if<DictObject*>(&value))
        return !(*dict)->entries.empty();
    return true;
}

std::string typeName(const Value& value)
{
    static const char* const kNames[] = {"Undefined", "None", "bool",      "int",      "float",      "str",
                                         "list",      "dict", "Namespace", "function", "LoopContext"};
    if (const auto* list = std::get_if<ListObject*>(&value)) {
        static const char* const kKinds[] = {"list", "tuple", "range", "dict_items", "generator"};
        return kKinds[static_cast<int>((*list)->kind)];
    }
    return kNames[value.index()];
}

bool isInteger(const Value& value)
{
    return std::holds_alternative<std::int64_t>(value) || std::holds_alternative<bool>(value);
}

bool isNumber(const Value& value)
{
    return isInteger(value) || std::holds_alternative<double>(value);
}

std::int64_t integerOf(const Value& value)
{
    if (const auto* boolean = std::get_if<bool>(&value))
        return *boolean ? 1 : 0;
    return std::get<std::int64_t>(value);
}

double numberOf(const Value& value)
{
    if (const auto* number = std::get_if<double>(&value))
        return *number;
    return static_cast<double>(integerOf(value));
}

std::string keyOf(const Value& key, int depth)
{
    checkNesting(depth);
    if (const Text* text = asText(key))
        return std::string(1, 's').append(text->bytes());
    if (isNumber(key)) {
        const double number = numberOf(key);
        if (isInteger(key) || (std::abs(number) < 9e18 && number == std::floor(number)))
            return fmt::format("n{}", isInteger(key) ? integerOf(key) : static_cast<std::int64_t>(number));
        return fmt::format("f{}", number);
    }
    if (std::holds_alternative<None>(key))
        return "0";
    if (const auto* list = std::get_if<ListObject*>(&key); list && (*list)->kind == ListObject::Kind::Tuple) {
        std::string joined = "t";
        for (const Value& item : (*list)->items) {
            const std::string part = keyOf(item, depth + 1);
            joined += fmt::format("{}:{}", part.size(), part);
            if (joined.size() > 1'000'000)
                throw TemplateError{"a dictionary key is larger than a megabyte"};
        }
        return joined;
    }
    throw TemplateError{fmt::format("unhashable type: '{}'", typeName(key))};
}

const Value* DictObject::find(const Value& key) const
{
    const auto found = index.find(keyOf(key));
    return found == index.end() ? nullptr : &entries[found->second].second;
}

void DictObject::set(const Value& key, Value value)
{
    const auto [place, isNew] = index.try_emplace(keyOf(key), entries.size());
    if (isNew)
        entries.emplace_back(key, std::move(value));
    else
        entries[place->second].second = std::move(value);
}

bool DictObject::erase(const Value& key)
{
    const auto found = index.find(keyOf(key));
    if (found == index.end())
        return false;
    const std::size_t at = found->second;
    index.erase(found);
    entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(at));
    for (auto& [name, position] : index)
        position -= position > at ? 1 : 0;
    return true;
}

Value* NamespaceObject::find(std::string_view name)
{
    for (auto& [attribute, value] : attributes) {
        if (attribute == name)
            return &value;
    }
    return nullptr;
}

bool equals(Interpreter& interpreter, const Value& left, const Value& right, int depth)
{
    checkNesting(depth);
    interpreter.charge(1);
    if (isNumber(left) && isNumber(right)) {
        if (isInteger(left) && isInteger(right))
            return integerOf(left) == integerOf(right);
        return numberOf(left) == numberOf(right);
    }
    if (left.index() != right.index())
        return false;
    if (const Text* text = asText(left))
        return text->bytes() == asText(right)->bytes();
    if (const auto* items = sequenceItems(left)) {
        const ListObject* leftList = std::get<ListObject*>(left);
        const ListObject* rightList = std::get<ListObject*>(right);
        if (leftList == rightList)
            return true;
        if (leftList->kind != rightList->kind || leftList->kind == ListObject::Kind::Iterator ||
            items->size() != rightList->items.size())
            return false;
        for (std::size_t i = 0; i < items->size(); ++i) {
            if (!equals(interpreter, (*items)[i], rightList->items[i], depth + 1))
                return false;
        }
        return true;
    }
    if (const auto* dict = std::get_if<DictObject*>(&left)) {
        const DictObject* other = std::get<DictObject*>(right);
        if ((*dict)->entries.size() != other->entries.size())
            return false;
        for (const auto& [key, value] : (*dict)->entries) {
            const Value* match = other->find(key);
            if (!match || !equals(interpreter, value, *match, depth + 1))
                return false;
        }
        return true;
    }
    if (isUndefined(left) || std::holds_alternative<None>(left))
        return true;
    const auto address = [](const Value& value) -> const void* {
        if (const auto* space = std::get_if<NamespaceObject*>(&value))
            return *space;
        if (const auto* callable = std::get_if<CallableObject*>(&value))
            return *callable;
        return std::get<LoopObject*>(value);
    };
    return address(left) == address(right);  // the rest is equal only to itself
}

int compare(Interpreter& interpreter, const Value& left, const Value& right, int depth)
{
    checkNesting(depth);
    interpreter.charge(1);
    if (isNumber(left) && isNumber(right)) {
        if (isInteger(left) && isInteger(right))
            return integerOf(left) < integerOf(right) ? -1 : integerOf(left) > integerOf(right);
        return numberOf(left) < numberOf(right) ? -1 : numberOf(left) > numberOf(right);
    }
    if (asText(left) && asText(right)) {
        const int order = asText(left)->bytes().compare(asText(right)->bytes());  // UTF-8 sorts as its code points
        return order < 0 ? -1 : order > 0;
    }
    const auto* leftItems = sequenceItems(left);
    const auto* rightItems = sequenceItems(right);
    if (leftItems && rightItems) {
        for (std::size_t i = 0; i < std::min(leftItems->size(), rightItems->size()); ++i) {
            if (!equals(interpreter, (*leftItems)[i], (*rightItems)[i], depth + 1))
                return compare(interpreter, (*leftItems)[i], (*rightItems)[i], depth + 1);
        }
        return leftItems->size() < rightItems->size() ? -1 : leftItems->size() > rightItems->size();
    }
    for (const Value& side : {left, right}) {
        if (const auto* undefined = std::get_if<Undefined>(&side))
            throw TemplateError{undefined->reason ? *undefined->reason : "a value is undefined"};
    }
    throw TemplateError{fmt::format("'{}' and '{}' have no order", typeName(left), typeName(right))};
}

}  // namespace tokenscope::jinja
