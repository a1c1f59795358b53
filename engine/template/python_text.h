// How Python writes values: str(), repr(), json.dumps() with Hugging Face's settings.
#pragma once

#include "engine/template/value.h"

#include <cstddef>
#include <string>

namespace tokenscope::jinja {

std::string floatText(double number);  // shortest that reads back the same, "1e+16", "2.0", "nan"

// Fail where the text would be longer than `maxBytes` or the value is nested too deeply.
Text strOf(const Value& value, std::size_t maxBytes);
Text reprOf(const Value& value, std::size_t maxBytes);

struct JsonStyle {
    int indent = -1;  // -1: on one line
    std::string itemSeparator = ", ";
    std::string keySeparator = ": ";
    bool sortKeys = false;
    bool asciiOnly = false;
};
Text jsonOf(const Value& value, const JsonStyle& style, std::size_t maxBytes);

}  // namespace tokenscope::jinja
