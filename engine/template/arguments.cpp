#include "engine/template/interpreter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace tokenscope::jinja {

BoundArguments::BoundArguments(const std::string& function, Arguments& arguments,
                               std::initializer_list<const char*> names)
    : m_function(function), m_names(names), m_values(names.size())
{
    if (arguments.positional.size() > names.size())
        throw TemplateError{
            fmt::format("{} takes at most {} arguments, got {}", function, names.size(), arguments.positional.size())};
    for (std::size_t i = 0; i < arguments.positional.size(); ++i)
        m_values[i] = arguments.positional[i];
    for (const auto& [name, value] : arguments.named) {
        const auto found = std::ranges::find_if(m_names, [&](const char* known) { return name == known; });
        if (found == m_names.end())
            throw TemplateError{fmt::format("{} takes no argument named '{}'", function, name)};
        auto& slot = m_values[static_cast<std::size_t>(found - m_names.begin())];
        if (slot)
            throw TemplateError{fmt::format("{} got its argument '{}' twice", function, name)};
        slot = value;
    }
}

Value BoundArguments::required(std::size_t parameter) const
{
    if (!m_values[parameter])
        throw TemplateError{fmt::format("{} needs an argument '{}'", m_function, m_names[parameter])};
    return *m_values[parameter];
}

bool BoundArguments::flag(std::size_t parameter, bool otherwise) const
{
    return m_values[parameter] ? isTrue(*m_values[parameter]) : otherwise;
}

std::int64_t BoundArguments::integer(std::size_t parameter, std::int64_t otherwise) const
{
    if (!m_values[parameter] || std::holds_alternative<None>(*m_values[parameter]))
        return otherwise;
    if (!isInteger(*m_values[parameter]))
        throw TemplateError{fmt::format("{}: argument '{}' must be an integer, not {}", m_function, m_names[parameter],
                                        typeName(*m_values[parameter]))};
    return integerOf(*m_values[parameter]);
}

Text BoundArguments::textOr(std::size_t parameter, std::string_view otherwise) const
{
    if (!m_values[parameter])
        return Text(std::string(otherwise));
    const Text* text = asText(*m_values[parameter]);
    if (!text)
        throw TemplateError{fmt::format("{}: argument '{}' must be a string, not {}", m_function, m_names[parameter],
                                        typeName(*m_values[parameter]))};
    return *text;
}

}  // namespace tokenscope::jinja
