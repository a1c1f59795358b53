#include "engine/template/chat_template.h"

#include "engine/template/interpreter.h"
#include "engine/template/syntax.h"

#include <fmt/format.h>

#include <exception>

namespace tokenscope {

struct ChatTemplate::Impl {
    jinja::Body body;
    TemplateLimits limits;
};

ChatTemplate::ChatTemplate(std::unique_ptr<Impl> impl) : m_impl(std::move(impl)) {}
ChatTemplate::~ChatTemplate() = default;

Result<std::shared_ptr<const ChatTemplate>> ChatTemplate::parse(std::string_view source, TemplateLimits limits)
{
    if (source.size() > limits.sourceBytes)
        return fail(ErrorCode::TemplateFailed, "the chat template has {} bytes, the limit is {}", source.size(),
                    limits.sourceBytes);
    try {
        auto impl = std::make_unique<Impl>(Impl{jinja::parseTemplate(source), limits});
        return std::shared_ptr<const ChatTemplate>(new ChatTemplate(std::move(impl)));
    } catch (const jinja::TemplateError& error) {
        return tl::unexpected(Error{ErrorCode::TemplateFailed,
                                    fmt::format("chat template, line {}: {}", error.line, error.message),
                                    {fmt::format("{}", error.line), error.message}});
    } catch (const std::bad_alloc&) {
        return fail(ErrorCode::OutOfMemory, "no memory to read the chat template");
    }
}

Result<std::vector<TextSegment>> ChatTemplate::render(const TemplateVariables& variables) const
{
    std::optional<jinja::Interpreter> interpreter;
    try {
        interpreter.emplace(m_impl->limits, variables);
        std::vector<TextSegment> segments;
        interpreter->run(m_impl->body).appendSegmentsTo(segments);
        return segments;
    } catch (const jinja::TemplateError& error) {
        const int line = error.line > 0 || !interpreter ? error.line : interpreter->line();
        std::string message = fmt::format("chat template, line {}: {}", line, error.message);
        std::vector<std::string> args = {fmt::format("{}", line), error.message};
        if (const auto at = interpreter ? interpreter->currentMessage() : std::nullopt) {
            message += fmt::format(" (at message {} of {}, from {})", *at + 1, variables.messages.size(),
                                   variables.messages[*at].role);
            args.push_back(fmt::format("{}", *at + 1));
        }
        return tl::unexpected(Error{ErrorCode::TemplateFailed, std::move(message), std::move(args)});
    } catch (const std::bad_alloc&) {
        return fail(ErrorCode::OutOfMemory, "no memory to render the chat template");
    }
}

std::string joinSegments(std::span<const TextSegment> segments)
{
    std::string text;
    for (const TextSegment& segment : segments)
        text += segment.text;
    return text;
}

}  // namespace tokenscope
