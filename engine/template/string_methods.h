// String operations that methods and filters share.
#pragma once

#include "engine/template/interpreter.h"

#include <optional>

namespace tokenscope::jinja {

Text upperText(const Text& text);
Text lowerText(const Text& text);
Text capitalized(const Text& text);  // str.capitalize()
Text pythonTitle(const Text& text);  // str.title()
Text replaced(Interpreter& interpreter, const Text& text, const Text& from, const Text& to,
              std::int64_t count);  // count < 0: all
Value splitText(Interpreter& interpreter, const Text& text, const std::optional<Text>& separator,
                std::int64_t maxSplits);
Text joined(Interpreter& interpreter, const Text& separator, const std::vector<Text>& parts);
Text strippedText(const Text& text, const std::optional<Text>& characters, bool left, bool right);

}  // namespace tokenscope::jinja
