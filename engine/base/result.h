// How everything of ours but kernels/ says that the world did not play along.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <tl/expected.hpp>

namespace tokenscope {

enum class ErrorCode {
    BadFile,           // malformed or truncated file
    UnsupportedModel,  // well-formed, but of an architecture, format or tokenizer we cannot run
    FileAccess,        // missing, no permission, read or write failed
    DiskFull,
    OutOfMemory,  // does not fit, by plan or by a failed allocation
    OutOfKvMemory,
    BadSetting,  // an option out of range or a combination that cannot be
    BadInput,    // prompt, message list, ids
    TemplateFailed,
    ContextFull,
    Cancelled,
    NotANumber,
    Busy,  // e.g. no model is loaded, another load is running
    NewerDatabase,
    DamagedDatabase,
    DeviceLost,
    Network,
    Internal,
};

// A name for programs ("bad_file"), stable, used in --json.
const char* errorCodeName(ErrorCode code);

// `message` is one English sentence with what failed, where, the number, the limit and what to do; `args` are its
// variable parts in order, so that ui/ can translate.
struct Error {
    ErrorCode code = ErrorCode::Internal;
    std::string message;
    std::vector<std::string> args = {};
};

template <typename T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(ErrorCode code, std::string message)
{
    return tl::unexpected<Error>(Error{code, std::move(message)});
}

// The sentence from its form and its variable parts, which become `args`.
template <typename... Args>
    requires(sizeof...(Args) > 0)
tl::unexpected<Error> fail(ErrorCode code, fmt::format_string<const Args&...> form, const Args&... args)
{
    return tl::unexpected<Error>(Error{code, fmt::format(form, args...), {fmt::format("{}", args)...}});
}

}  // namespace tokenscope
