// The syntax tree of a template. Chains (a + b + c, x.y.z|f|g) are one node with many links, so that only real nesting
// costs depth.
#pragma once

#include "engine/template/value.h"

#include <memory>
#include <string>
#include <vector>

namespace tokenscope::jinja {

struct Expression;
using ExpressionPointer = std::unique_ptr<Expression>;

struct CallArguments {
    std::vector<ExpressionPointer> positional;
    std::vector<std::pair<std::string, ExpressionPointer>> named;
};

// One link of a postfix chain: .name, [index], [from:to:step], (arguments), |filter(arguments), is [not]
// test(arguments).
struct Postfix {
    enum class Kind { Attribute, Subscript, Slice, Call, Filter, Test, NotTest };
    Kind kind = Kind::Attribute;
    int line = 0;
    std::string name;
    ExpressionPointer index, sliceEnd, sliceStep;  // null where left out
    CallArguments arguments;
};

struct Expression {
    enum class Kind {
        Constant,
        Name,
        List,
        Tuple,
        Dict,          // operands: key, value, key, value …
        PostfixChain,  // operands[0], then the links
        Arithmetic,    // operands[0] operators[0] operands[1] …, of one precedence, from the left
        Compare,       // the same with comparisons: a < b < c
        Concat,        // ~
        And,
        Or,
        Not,
        Negative,
        Positive,
        Conditional,  // operands: value, condition, other (may be missing)
    };
    Kind kind = Kind::Constant;
    int line = 0;
    Value constant;
    std::string name;
    std::vector<ExpressionPointer> operands;
    std::vector<std::string> operators;
    std::vector<Postfix> links;
};

struct Statement;
using Body = std::vector<std::unique_ptr<Statement>>;

// What a set or for assigns to: a name, ns.attribute, or a tuple of these.
struct Target {
    std::string name;
    std::string attribute;  // "" unless of a namespace
    std::vector<Target> parts;
};

struct MacroParameter {
    std::string name;
    ExpressionPointer defaultValue;  // null: none
};

struct Statement {
    enum class Kind { Text, Print, If, For, Set, SetBlock, Macro, CallBlock, FilterBlock, Block, Break, Continue };
    Kind kind = Kind::Text;
    int line = 0;
    Text text;                     // Text
    ExpressionPointer expression;  // Print, For: over what, Set, CallBlock: the call, SetBlock/FilterBlock: filters
    ExpressionPointer condition;   // For: its "if"
    std::vector<std::pair<ExpressionPointer, Body>> branches;  // If: condition (null: else) and body
    Body body;
    Body otherwise;                          // For: else
    Target target;                           // For, Set, SetBlock
    bool recursive = false;                  // For
    std::string name;                        // Macro
    std::vector<MacroParameter> parameters;  // Macro, CallBlock
    bool takesVarargs = false;               // Macro: its body names varargs, kwargs, caller
    bool takesKwargs = false;
    bool takesCaller = false;
};

// Throws TemplateError.
Body parseTemplate(std::string_view source);

}  // namespace tokenscope::jinja
