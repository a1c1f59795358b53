#include "engine/template/filters.h"

#include "engine/template/string_methods.h"

#include <fmt/format.h>

#include <charconv>
#include <map>

namespace tokenscope::jinja {
namespace {

const std::map<std::string_view, Filter>& allFilters()
{
    static const std::map<std::string_view, Filter> filters = [] {
        std::map<std::string_view, Filter> made;
        for (const auto& group : {textFilters(), sequenceFilters(), selectFilters(), valueFilters()}) {
            for (const NamedFilter& named : group)
                made.emplace(named.name, named.filter);
        }
        return made;
    }();
    return filters;
}

}  // namespace

bool isFilter(std::string_view name)
{
    return allFilters().contains(name);
}

Value Interpreter::filter(const std::string& name, const Value& value, Arguments& arguments)
{
    charge(1);
    const auto found = allFilters().find(name);
    if (found == allFilters().end())
        throw TemplateError{fmt::format("no filter named '{}'", name)};
    return found->second(*this, value, arguments);
}

Value attributeByPath(Interpreter& interpreter, const Value& value, const Value& path, const Value* otherwise)
{
    if (!asText(path))
        return interpreter.subscript(value, path);
    Value at = value;
    std::string_view rest = asText(path)->bytes();
    for (bool more = true; more;) {
        interpreter.charge(1);
        const std::size_t point = rest.find('.');
        const std::string_view part = rest.substr(0, point);
        more = point != std::string_view::npos;
        rest.remove_prefix(more ? point + 1 : rest.size());
        std::int64_t index = 0;
        const auto [end, status] = std::from_chars(part.data(), part.data() + part.size(), index);
        const bool isIndex =
            status == std::errc() && end == part.data() + part.size() && !part.empty() && part[0] != '-';
        at = interpreter.subscript(at, isIndex ? Value(index) : textValue(part));
        if (isUndefined(at) && otherwise)
            at = *otherwise;
    }
    return at;
}

Value comparisonKey(const Value& value, bool caseSensitive)
{
    const Text* text = asText(value);
    return text && !caseSensitive ? textValue(lowerText(*text)) : value;
}

}  // namespace tokenscope::jinja
