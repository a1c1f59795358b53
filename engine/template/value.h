// Values of the template language, with Python's types and rules. Containers belong to the interpreter's heap and live
// until the end of a rendering; values point to them. So a template can nest and tie them as it likes, and freeing
// neither recurses nor leaks.
#pragma once

#include "engine/template/text.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace tokenscope::jinja {

// Thrown inside the template room only; ChatTemplate turns it into an Error. `line` 0: where the interpreter is.
struct TemplateError {
    std::string message;
    int line = 0;
};

struct Undefined {
    std::shared_ptr<const std::string> reason;  // "'x' is undefined"
};
struct None {};
using TextPointer = std::shared_ptr<const Text>;
struct ListObject;
struct DictObject;
struct NamespaceObject;
struct CallableObject;
struct LoopObject;

using Value = std::variant<Undefined, None, bool, std::int64_t, double, TextPointer, ListObject*, DictObject*,
                           NamespaceObject*, CallableObject*, LoopObject*>;

struct ListObject {
    // Python's types differ in what they allow: a view (dict.items()) has a length but no index, an iterator neither.
    enum class Kind { List, Tuple, Range, View, Iterator };
    Kind kind = Kind::List;
    std::vector<Value> items;
};

// In order of insertion. Keys are compared as Python does: 1, 1.0 and True are one key.
struct DictObject {
    std::vector<std::pair<Value, Value>> entries;
    std::unordered_map<std::string, std::size_t> index;  // by keyOf

    const Value* find(const Value& key) const;  // throws for an unhashable key
    void set(const Value& key, Value value);
    bool erase(const Value& key);
};

struct NamespaceObject {
    std::vector<std::pair<std::string, Value>> attributes;
    Value* find(std::string_view name);
};

struct Arguments {
    std::vector<Value> positional;
    std::vector<std::pair<std::string, Value>> named;
};

class Interpreter;
struct CallableObject {
    std::string name;
    std::function<Value(Interpreter&, Arguments&)> call;
};

// What `loop` is inside a for.
struct LoopObject {
    std::vector<Value> items;
    std::size_t index0 = 0;
    int depth = 1;
    std::vector<Value> lastChanged;
    bool hasChanged = false;
    std::function<Value(Interpreter&, const Value&)> recurse;  // empty unless the loop is recursive
};

// Owns what values point to.
struct ValueHeap {
    std::deque<ListObject> lists;
    std::deque<DictObject> dicts;
    std::deque<NamespaceObject> namespaces;
    std::deque<CallableObject> callables;
    std::deque<LoopObject> loops;
};

inline Value textValue(Text text)
{
    return std::make_shared<const Text>(std::move(text));
}
inline Value textValue(std::string_view text)
{
    return textValue(Text(std::string(text)));
}
const Text* asText(const Value& value);  // null if not a string
bool isUndefined(const Value& value);
bool isTrue(const Value& value);
std::string typeName(const Value& value);  // "str", "dict", as Python's messages have it
// Equal keys give equal bytes; throws TemplateError if unhashable.
std::string keyOf(const Value& key, int depth = 0);

// Numbers: bool counts as int.
bool isInteger(const Value& value);
bool isNumber(const Value& value);
std::int64_t integerOf(const Value& value);
double numberOf(const Value& value);

// Every element looked at costs a step; `depth` bounds what a template has nested or tied into itself.
bool equals(Interpreter& interpreter, const Value& left, const Value& right, int depth = 0);
// < 0, 0, > 0; throws where Python has no order.
int compare(Interpreter& interpreter, const Value& left, const Value& right, int depth = 0);

}  // namespace tokenscope::jinja
