// Python's two ways to fill text into text: '{:>5}'.format(x) and '%5s' % x, the part of them that templates use.
#pragma once

#include "engine/template/interpreter.h"

namespace tokenscope::jinja {

// {}, {0}, {name}, with !r, !s and a format specification. Attributes and items in a field ({0.name}) are refused.
Value braceFormat(Interpreter& interpreter, const Text& pattern, const Arguments& arguments);
// %s %r %d %i %f %e %g %x %X %o %%, with flags, width and precision; a tuple gives several values, a dict named ones.
Value percentFormat(Interpreter& interpreter, const Text& pattern, const Value& values);

}  // namespace tokenscope::jinja
