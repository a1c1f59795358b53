#include "engine/template/interpreter.h"

#include "engine/template/python_text.h"
#include "engine/template/unicode.h"

#include <fmt/format.h>

#include <algorithm>

namespace tokenscope::jinja {
namespace {

// A template writes <|user|> as '<|' + message.role + '|>': these names are the program's, anything else is a
// message's.
bool isKnownRole(std::string_view role)
{
    static constexpr std::string_view kRoles[] = {"system", "user", "assistant", "tool", "developer", "model"};
    return std::ranges::find(kRoles, role) != std::end(kRoles);
}

}  // namespace

class Interpreter::Nesting {
public:
    explicit Nesting(Interpreter& interpreter) : m_interpreter(interpreter)
    {
        if (++interpreter.m_depth > interpreter.m_limits.depth) {
            --interpreter.m_depth;
            throw TemplateError{
                fmt::format("calls and loops are nested more than {} deep", interpreter.m_limits.depth)};
        }
    }
    ~Nesting() { --m_interpreter.m_depth; }

private:
    Interpreter& m_interpreter;
};

// A new innermost scope until the end of the C++ block.
class Interpreter::ScopeEntry {
public:
    ScopeEntry(Interpreter& interpreter, Scope* parent) : m_interpreter(interpreter), m_before(interpreter.m_scope)
    {
        m_interpreter.m_scope = &m_interpreter.m_scopes.emplace_back();
        m_interpreter.m_scope->parent = parent;
    }
    ~ScopeEntry()
    {
        m_interpreter.m_scope = m_before;
        if (!m_interpreter.m_scopes.back().captured)
            m_interpreter.m_scopes.pop_back();
    }

private:
    Interpreter& m_interpreter;
    Scope* const m_before;
};

Interpreter::Interpreter(const TemplateLimits& limits, const TemplateVariables& variables)
    : m_limits(limits), m_variables(variables)
{
    m_scope = &m_scopes.emplace_back();
    forEachFunction(
        [this](const char* name, Value (*function)(Interpreter&, Arguments&)) { set(name, callable(name, function)); });
    std::vector<Value> messages;
    for (const ChatMessage& message : variables.messages) {
        DictObject* entry = dict();
        entry->set(textValue("role"), textValue(Text(message.role, !isKnownRole(message.role))));
        entry->set(textValue("content"), textValue(Text(message.content, true)));
        messages.push_back(entry);
        m_messages.push_back(entry);
    }
    set("messages", list(std::move(messages)));
    set("add_generation_prompt", variables.addGenerationPrompt);
    set("bos_token", textValue(variables.bosToken));
    set("eos_token", textValue(variables.eosToken));
    m_steps = 0;  // what the program put there is not the template's doing
    // The template's own names live one scope further in, so that they hide these and do not replace them.
    Scope* globals = m_scope;
    m_scope = &m_scopes.emplace_back();
    m_scope->parent = globals;
}

Text Interpreter::run(const Body& body)
{
    runBody(body);
    return std::move(m_output);
}

std::optional<std::size_t> Interpreter::currentMessage() const
{
    for (auto item = m_loopItems.rbegin(); item != m_loopItems.rend(); ++item) {
        const auto* entry = std::get_if<DictObject*>(*item);
        const auto found = entry ? std::ranges::find(m_messages, *entry) : m_messages.end();
        if (found != m_messages.end())
            return static_cast<std::size_t>(found - m_messages.begin());
    }
    return std::nullopt;
}

void Interpreter::charge(std::size_t steps)
{
    m_steps += steps;
    if (m_steps > m_limits.steps)
        throw TemplateError{fmt::format("the template takes more than {} steps", m_limits.steps)};
}

void Interpreter::chargeBytes(std::size_t bytes)
{
    if (bytes > m_limits.outputBytes)
        throw TemplateError{fmt::format("a text of the template is longer than {} bytes", m_limits.outputBytes)};
    charge(1 + bytes / 64);
}

Value Interpreter::text(Text text)
{
    chargeBytes(text.size());
    return textValue(std::move(text));
}

Value Interpreter::list(std::vector<Value> items, ListObject::Kind kind)
{
    charge(1 + items.size());
    return &m_heap.lists.emplace_back(ListObject{kind, std::move(items)});
}

DictObject* Interpreter::dict()
{
    charge(1);
    return &m_heap.dicts.emplace_back();
}

NamespaceObject* Interpreter::makeNamespace()
{
    charge(1);
    return &m_heap.namespaces.emplace_back();
}

Value Interpreter::callable(std::string name, std::function<Value(Interpreter&, Arguments&)> call)
{
    charge(1);
    return &m_heap.callables.emplace_back(CallableObject{std::move(name), std::move(call)});
}

Text Interpreter::str(const Value& value)
{
    Text printed = strOf(value, m_limits.outputBytes);
    chargeBytes(printed.size());
    return printed;
}

std::vector<Value> Interpreter::iterate(const Value& value)
{
    std::vector<Value> items;
    if (const auto* list = std::get_if<ListObject*>(&value)) {
        charge((*list)->items.size());
        if ((*list)->kind == ListObject::Kind::Iterator)
            return std::exchange((*list)->items, {});
        return (*list)->items;
    }
    if (const auto* dict = std::get_if<DictObject*>(&value)) {
        charge((*dict)->entries.size());
        for (const auto& [key, unused] : (*dict)->entries)
            items.push_back(key);
        return items;
    }
    if (const Text* text = asText(value)) {
        charge(text->size());
        const std::vector<std::size_t> starts = characterStarts(text->bytes());
        for (std::size_t i = 0; i + 1 < starts.size(); ++i)
            items.push_back(textValue(text->slice(starts[i], starts[i + 1])));
        return items;
    }
    if (isUndefined(value))
        return items;
    throw TemplateError{fmt::format("'{}' object is not iterable", typeName(value))};
}

const Value* Interpreter::find(const std::string& name)
{
    for (const Scope* scope = m_scope; scope; scope = scope->parent) {
        charge(scope->variables.size() / 16);
        for (const auto& [variable, value] : scope->variables) {
            if (variable == name)
                return &value;
        }
    }
    return nullptr;
}

void Interpreter::set(const std::string& name, Value value)
{
    charge(1 + m_scope->variables.size() / 16);
    for (auto& [variable, current] : m_scope->variables) {
        if (variable == name) {
            current = std::move(value);
            return;
        }
    }
    m_scope->variables.emplace_back(name, std::move(value));
}

void Interpreter::assign(const Target& target, const Value& value)
{
    if (!target.parts.empty()) {
        const std::vector<Value> items = iterate(value);
        if (items.size() != target.parts.size())
            throw TemplateError{
                fmt::format("{} values cannot be assigned to {} names", items.size(), target.parts.size())};
        for (std::size_t i = 0; i < items.size(); ++i)
            assign(target.parts[i], items[i]);
        return;
    }
    if (target.attribute.empty()) {
        set(target.name, value);
        return;
    }
    const Value* owner = find(target.name);
    const auto* space = owner ? std::get_if<NamespaceObject*>(owner) : nullptr;
    if (!space)
        throw TemplateError{fmt::format("cannot assign to an attribute of '{}': not a namespace", target.name)};
    charge((*space)->attributes.size() / 16);
    if (Value* attribute = (*space)->find(target.attribute))
        *attribute = value;
    else
        (*space)->attributes.emplace_back(target.attribute, value);
}

void Interpreter::print(const Text& text)
{
    chargeBytes(m_sink->size() + text.size() > m_limits.outputBytes ? m_limits.outputBytes + 1 : text.size());
    m_sink->append(text);
}

Text Interpreter::capture(const Body& body)
{
    const ScopeEntry scope(*this, m_scope);
    Text captured;
    Text* const outer = std::exchange(m_sink, &captured);
    runBody(body);  // an error ends the whole rendering, so nothing needs to be put back then
    m_sink = outer;
    return captured;
}

Interpreter::Flow Interpreter::runBody(const Body& body)
{
    for (const auto& statement : body) {
        const Flow flow = run(*statement);
        if (flow != Flow::Normal)
            return flow;
    }
    return Flow::Normal;
}

Interpreter::Flow Interpreter::run(const Statement& statement)
{
    charge(1);
    m_line = statement.line;
    using Kind = Statement::Kind;
    switch (statement.kind) {
    case Kind::Text:
        print(statement.text);
        break;
    case Kind::Print:
        print(str(evaluate(*statement.expression)));
        break;
    case Kind::If:
        for (const auto& [condition, body] : statement.branches) {
            if (!condition || isTrue(evaluate(*condition)))
                return runBody(body);
        }
        break;
    case Kind::For:
        return runFor(statement);
    case Kind::Set:
        assign(statement.target, evaluate(*statement.expression));
        break;
    case Kind::SetBlock:
        assign(statement.target, filtered(statement, capture(statement.body)));
        break;
    case Kind::Macro:
        set(statement.name, macro(statement, statement.name));
        break;
    case Kind::CallBlock:
        runCallBlock(statement);
        break;
    case Kind::FilterBlock:
        print(str(filtered(statement, capture(statement.body))));
        break;
    case Kind::Block:
        print(capture(statement.body));
        break;
    case Kind::Break:
        return Flow::Break;
    case Kind::Continue:
        return Flow::Continue;
    }
    return Flow::Normal;
}

Value Interpreter::filtered(const Statement& statement, Text body)
{
    const Value captured = text(std::move(body));
    if (!statement.expression)
        return captured;
    return evaluateChain(*statement.expression, &captured, statement.expression->links.size());
}

Interpreter::Flow Interpreter::runFor(const Statement& statement)
{
    runLoop(statement, iterate(evaluate(*statement.expression)), 1, m_scope);
    return Flow::Normal;
}

bool Interpreter::loopTakes(const Statement& statement, const Value& item)
{
    const ScopeEntry scope(*this, m_scope);
    assign(statement.target, item);
    return isTrue(evaluate(*statement.condition));
}

void Interpreter::runLoop(const Statement& statement, std::vector<Value> items, int depth, Scope* outer)
{
    const Nesting nesting(*this);
    Scope* const before = std::exchange(m_scope, outer);
    if (statement.condition)
        std::erase_if(items, [&](const Value& item) { return !loopTakes(statement, item); });

    LoopObject& loop = m_heap.loops.emplace_back();
    loop.items = std::move(items);
    loop.depth = depth;
    if (statement.recursive) {
        loop.recurse = [&statement, depth, outer](Interpreter& self, const Value& children) {
            Text captured;
            Text* const sink = std::exchange(self.m_sink, &captured);
            self.runLoop(statement, self.iterate(children), depth + 1, outer);
            self.m_sink = sink;
            return self.text(std::move(captured));
        };
    }
    bool ranToEnd = false;  // Jinja's else stands for "no pass ran to its end", so break and continue lead there too
    for (loop.index0 = 0; loop.index0 < loop.items.size(); ++loop.index0) {
        charge(1);
        const ScopeEntry scope(*this, outer);
        set("loop", &loop);
        assign(statement.target, loop.items[loop.index0]);
        m_loopItems.push_back(&loop.items[loop.index0]);
        const Flow flow = runBody(statement.body);
        m_loopItems.pop_back();
        if (flow == Flow::Break)
            break;
        ranToEnd = ranToEnd || flow == Flow::Normal;
    }
    if (!ranToEnd) {
        const ScopeEntry scope(*this, outer);
        runBody(statement.otherwise);
    }
    m_scope = before;
}

Value Interpreter::macro(const Statement& statement, std::string name)
{
    Scope* const home = m_scope;
    for (Scope* scope = home; scope && !scope->captured; scope = scope->parent)
        scope->captured = true;
    return callable(name, [&statement, home, name](Interpreter& self, Arguments& arguments) {
        return self.callMacro(statement, home, name, arguments);
    });
}

Value Interpreter::callMacro(const Statement& macro, Scope* home, const std::string& name, Arguments& arguments)
{
    const Nesting nesting(*this);
    const int line = m_line;
    Text captured;
    {
        const ScopeEntry scope(*this, home);
        std::size_t position = 0;
        for (const MacroParameter& parameter : macro.parameters) {
            const auto named =
                std::ranges::find(arguments.named, parameter.name,
                                  [](const auto& argument) -> const std::string& { return argument.first; });
            const bool isNamed = named != arguments.named.end();
            if (position < arguments.positional.size()) {
                if (isNamed)
                    throw TemplateError{fmt::format("macro '{}' got argument '{}' twice", name, parameter.name)};
                set(parameter.name, arguments.positional[position++]);
            } else if (isNamed) {
                set(parameter.name, named->second);
                arguments.named.erase(named);
            } else if (parameter.defaultValue) {
                set(parameter.name, evaluate(*parameter.defaultValue));
            } else {
                const auto reason = fmt::format("parameter '{}' was not provided", parameter.name);
                set(parameter.name, Undefined{std::make_shared<const std::string>(reason)});
            }
        }
        if (macro.takesCaller) {
            const auto caller =
                std::ranges::find(arguments.named, "caller", [](const auto& argument) { return argument.first; });
            set("caller", caller == arguments.named.end() ? Value(Undefined{}) : caller->second);
            if (caller != arguments.named.end())
                arguments.named.erase(caller);
        }
        if (position < arguments.positional.size() && !macro.takesVarargs)
            throw TemplateError{
                fmt::format("macro '{}' takes not more than {} arguments", name, macro.parameters.size())};
        if (!arguments.named.empty() && !macro.takesKwargs)
            throw TemplateError{fmt::format("macro '{}' takes no argument named '{}'", name, arguments.named[0].first)};
        if (macro.takesVarargs)
            set("varargs",
                list({arguments.positional.begin() + static_cast<std::ptrdiff_t>(position), arguments.positional.end()},
                     ListObject::Kind::Tuple));
        if (macro.takesKwargs) {
            DictObject* rest = dict();
            for (const auto& [key, value] : arguments.named)
                rest->set(textValue(key), value);
            set("kwargs", rest);
        }
        Text* const sink = std::exchange(m_sink, &captured);
        runBody(macro.body);
        m_sink = sink;
    }
    m_line = line;
    return text(std::move(captured));
}

void Interpreter::runCallBlock(const Statement& statement)
{
    const Expression& chain = *statement.expression;
    const Value callee = evaluateChain(chain, nullptr, chain.links.size() - 1);
    Arguments arguments = evaluateArguments(chain.links.back().arguments);
    arguments.named.emplace_back("caller", macro(statement, "caller"));
    print(str(call(callee, arguments)));
}

}  // namespace tokenscope::jinja
