// Evaluates a parsed template against one set of messages. Everything a template can reach is made here from the
// messages: there is no way from it to files, functions or objects of the program. Every evaluated node, every list
// element and every 64 bytes of text made cost a step; steps, nesting and the size of any text are bounded. One
// rendering, one interpreter, one thread.
#pragma once

#include "engine/template/chat_template.h"
#include "engine/template/syntax.h"

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tokenscope::jinja {

class Interpreter {
public:
    Interpreter(const TemplateLimits& limits, const TemplateVariables& variables);

    Text run(const Body& body);  // throws TemplateError
    int line() const { return m_line; }
    // The message a loop over the messages was at, counted from 0.
    std::optional<std::size_t> currentMessage() const;

    // For filters, tests and methods.
    void charge(std::size_t steps);
    void chargeBytes(std::size_t bytes);  // fails where one text would pass the output limit
    Value text(Text text);
    Value list(std::vector<Value> items, ListObject::Kind kind = ListObject::Kind::List);
    DictObject* dict();
    NamespaceObject* makeNamespace();
    Value callable(std::string name, std::function<Value(Interpreter&, Arguments&)> call);
    Text str(const Value& value);
    std::vector<Value> iterate(const Value& value);  // uses up an iterator
    std::size_t maxTextBytes() const { return m_limits.outputBytes; }
    const TemplateVariables& variables() const { return m_variables; }

    Value call(const Value& callee, Arguments& arguments);
    Value attribute(const Value& value, const std::string& name);
    Value subscript(const Value& value, const Value& key);
    Value slice(const Value& value, const Value& from, const Value& to, const Value& step);
    Value filter(const std::string& name, const Value& value, Arguments& arguments);
    bool test(const std::string& name, const Value& value, Arguments& arguments);
    bool contains(const Value& container, const Value& item);

private:
    struct Scope {
        Scope* parent = nullptr;
        std::vector<std::pair<std::string, Value>> variables;
        bool captured = false;  // a macro refers to it: it must outlive its block
    };
    enum class Flow { Normal, Break, Continue };
    class Nesting;
    class ScopeEntry;

    // Statements (interpreter.cpp).
    Flow run(const Statement& statement);
    Flow runBody(const Body& body);
    Flow runFor(const Statement& statement);
    void runLoop(const Statement& statement, std::vector<Value> items, int depth, Scope* outer);
    bool loopTakes(const Statement& statement, const Value& item);
    void define(const Statement& macro);
    Value macro(const Statement& statement, std::string name);
    Value callMacro(const Statement& macro, Scope* home, const std::string& name, Arguments& arguments);
    void runCallBlock(const Statement& statement);
    Text capture(const Body& body);
    void print(const Text& text);
    void assign(const Target& target, const Value& value);
    void set(const std::string& name, Value value);
    const Value* find(const std::string& name);

    // Expressions (expressions.cpp).
    Value evaluate(const Expression& expression);
    Value evaluateNode(const Expression& expression);
    Value evaluateDict(const Expression& expression);
    Value evaluateChain(const Expression& expression, const Value* first, std::size_t links);
    Value evaluateLink(const Value& value, const Postfix& link);
    bool evaluateCompare(const Expression& expression);
    bool compareOne(const std::string& comparison, const Value& left, const Value& right);
    std::vector<Value> evaluateAll(const std::vector<ExpressionPointer>& expressions);
    Arguments evaluateArguments(const CallArguments& arguments);
    Value evaluateArithmetic(const Expression& expression);

    // Where a statement's expression is a chain over a value that comes from elsewhere (filter and set blocks).
    Value filtered(const Statement& statement, Text body);

    const TemplateLimits m_limits;
    const TemplateVariables m_variables;
    ValueHeap m_heap;
    std::deque<Scope> m_scopes;
    Scope* m_scope = nullptr;
    Text m_output;
    Text* m_sink = &m_output;  // where printing goes: the output, or what a block captures
    std::size_t m_steps = 0;
    int m_depth = 0;   // calls and loops
    int m_frames = 0;  // expressions, bounded because they use this thread's stack
    int m_line = 0;
    std::vector<const DictObject*> m_messages;
    std::vector<const Value*> m_loopItems;  // of the open loops
};

// Operators (operators.cpp).
Value arithmetic(Interpreter& interpreter, const std::string& operation, const Value& left, const Value& right);
Value negative(const Value& value);
[[noreturn]] void failUndefined(const Value& value);

// What values can do (string_methods.cpp, container_methods.cpp). null: the type has no such method.
using Method = Value (*)(Interpreter&, const Value& self, Arguments&);
Method findStringMethod(std::string_view name);
Method findListMethod(std::string_view name);
Method findDictMethod(std::string_view name);
Value loopAttribute(Interpreter& interpreter, LoopObject& loop, const std::string& name);  // Undefined: there is none

// Global functions (functions.cpp): raise_exception, strftime_now, range, dict, namespace.
void forEachFunction(const std::function<void(const char*, Value (*)(Interpreter&, Arguments&))>& visit);

// Arguments by position or name, as Python binds them. Throws for too many and for unknown names.
class BoundArguments {
public:
    BoundArguments(const std::string& function, Arguments& arguments, std::initializer_list<const char*> names);
    bool has(std::size_t parameter) const { return m_values[parameter].has_value(); }
    Value get(std::size_t parameter) const { return m_values[parameter].value_or(Value(Undefined{})); }
    Value required(std::size_t parameter) const;
    bool flag(std::size_t parameter, bool otherwise) const;
    std::int64_t integer(std::size_t parameter, std::int64_t otherwise) const;
    Text textOr(std::size_t parameter, std::string_view otherwise) const;  // throws if not a string

private:
    std::string m_function;
    std::vector<const char*> m_names;
    std::vector<std::optional<Value>> m_values;
};

}  // namespace tokenscope::jinja
