// The filters of a template, by name.
#pragma once

#include "engine/template/interpreter.h"

#include <string_view>
#include <vector>

namespace tokenscope::jinja {

using Filter = Value (*)(Interpreter&, const Value& value, Arguments& arguments);
struct NamedFilter {
    std::string_view name;
    Filter filter;
};

std::vector<NamedFilter> textFilters();      // text_filters.cpp
std::vector<NamedFilter> sequenceFilters();  // sequence_filters.cpp
std::vector<NamedFilter> selectFilters();    // select_filters.cpp: those that take attributes or name other filters
std::vector<NamedFilter> valueFilters();     // value_filters.cpp
bool isFilter(std::string_view name);

// x.a.0.b by the path "a.0.b" (or an integer); what is missing is `otherwise` where that is given.
Value attributeByPath(Interpreter& interpreter, const Value& value, const Value& path,
                      const Value* otherwise = nullptr);
// Letters of strings made small unless `caseSensitive`: what sort, unique, min, max compare by.
Value comparisonKey(const Value& value, bool caseSensitive);

}  // namespace tokenscope::jinja
