// Global functions of a template.
#include "engine/template/interpreter.h"

#include <fmt/format.h>

#include <chrono>
#include <ctime>

namespace tokenscope::jinja {
namespace {

Value raiseException(Interpreter& interpreter, Arguments& given)
{
    const BoundArguments arguments("raise_exception()", given, {"message"});
    throw TemplateError{interpreter.str(arguments.required(0)).bytes()};
}

// The C library's strftime is Python's too.
Value strftimeNow(Interpreter& interpreter, Arguments& given)
{
    const BoundArguments arguments("strftime_now()", given, {"format"});
    const std::string format = (arguments.required(0), arguments.textOr(0, "").bytes());
    const std::int64_t seconds = interpreter.variables().nowSeconds.value_or(
        std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()));
    const std::time_t now = static_cast<std::time_t>(seconds);
    std::tm parts{};
    localtime_r(&now, &parts);
    // An empty result and one that does not fit both give 0: a space in front tells them apart.
    std::string text(4'096, '\0');
    const std::size_t bytes = std::strftime(text.data(), text.size(), (" " + format).c_str(), &parts);
    if (bytes == 0)
        throw TemplateError{fmt::format("strftime_now(): the date is longer than {} bytes", text.size())};
    return interpreter.text(Text(text.substr(1, bytes - 1)));
}

Value range(Interpreter& interpreter, Arguments& given)
{
    if (!given.named.empty() || given.positional.empty() || given.positional.size() > 3)
        throw TemplateError{"range() takes one to three integers"};
    for (const Value& argument : given.positional) {
        if (!isInteger(argument))
            throw TemplateError{fmt::format("range() needs integers, not {}", typeName(argument))};
    }
    const bool hasStart = given.positional.size() > 1;
    const std::int64_t start = hasStart ? integerOf(given.positional[0]) : 0;
    const std::int64_t stop = integerOf(given.positional[hasStart ? 1 : 0]);
    const std::int64_t step = given.positional.size() > 2 ? integerOf(given.positional[2]) : 1;
    if (step == 0)
        throw TemplateError{"range() step must not be zero"};
    constexpr std::size_t kMaxItems = 100'000;  // Jinja's own limit for templates it does not trust
    std::vector<Value> items;
    std::int64_t at = start;
    while (step > 0 ? at < stop : at > stop) {
        if (items.size() == kMaxItems)
            throw TemplateError{fmt::format("range() is longer than {}", kMaxItems)};
        items.push_back(at);
        if (__builtin_add_overflow(at, step, &at))
            break;
    }
    return interpreter.list(std::move(items), ListObject::Kind::Range);
}

Value makeDict(Interpreter& interpreter, Arguments& given)
{
    DictObject* made = interpreter.dict();
    if (given.positional.size() > 1)
        throw TemplateError{"dict() takes at most one argument that has no name"};
    if (!given.positional.empty()) {
        if (const auto* source = std::get_if<DictObject*>(&given.positional[0])) {
            interpreter.charge((*source)->entries.size());
            *made = **source;
        } else {
            for (const Value& pair : interpreter.iterate(given.positional[0])) {
                const std::vector<Value> parts = interpreter.iterate(pair);
                if (parts.size() != 2)
                    throw TemplateError{"dict() needs pairs of key and value"};
                made->set(parts[0], parts[1]);
            }
        }
    }
    for (const auto& [name, value] : given.named)
        made->set(textValue(name), value);
    return made;
}

Value makeNamespace(Interpreter& interpreter, Arguments& given)
{
    NamespaceObject* made = interpreter.makeNamespace();
    Arguments entries = given;
    const Value initial = makeDict(interpreter, entries);
    for (const auto& [key, value] : std::get<DictObject*>(initial)->entries) {
        if (!asText(key))
            throw TemplateError{"the names in a namespace must be strings"};
        made->attributes.emplace_back(asText(key)->bytes(), value);
    }
    return made;
}

}  // namespace

void forEachFunction(const std::function<void(const char*, Value (*)(Interpreter&, Arguments&))>& visit)
{
    visit("raise_exception", &raiseException);
    visit("strftime_now", &strftimeNow);
    visit("range", &range);
    visit("dict", &makeDict);
    visit("namespace", &makeNamespace);
}

}  // namespace tokenscope::jinja
