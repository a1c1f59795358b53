// A model's own chat template: the subset of Jinja that real templates use, evaluated without access to anything but
// the messages, with limits on steps, depth and output. Oracle: Jinja2 with trim_blocks, lstrip_blocks, loop controls
// and Hugging Face's tojson. Immutable after parse, thread-safe.
#pragma once

#include "engine/base/result.h"
#include "engine/tokenizer/tokenizer.h"
#include "engine/types/chat.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tokenscope {

struct TemplateLimits {
    std::size_t steps = 2'000'000;  // evaluated nodes
    int depth = 100;                // nested calls, loops and expressions
    std::size_t outputBytes = 16u << 20;
    std::size_t sourceBytes = 1u << 20;
};

struct TemplateVariables {
    std::span<const ChatMessage> messages;
    bool addGenerationPrompt = true;
    std::string bosToken;
    std::string eosToken;
    std::optional<std::int64_t> nowSeconds = std::nullopt;  // Unix time for strftime_now; nullopt: the clock's
};

class ChatTemplate {
public:
    // TemplateFailed with the line of the source and what is wrong there.
    static Result<std::shared_ptr<const ChatTemplate>> parse(std::string_view source, TemplateLimits limits = {});

    // Segments in order; strings that came from messages stay marked as data through filters, slices, concatenation.
    // TemplateFailed with line and message; args are the line, the message (raise_exception's text verbatim) and, where
    // a loop over the messages was at one, its number from 1.
    Result<std::vector<TextSegment>> render(const TemplateVariables& variables) const;

    ~ChatTemplate();

private:
    struct Impl;
    explicit ChatTemplate(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> m_impl;
};

std::string joinSegments(std::span<const TextSegment> segments);

}  // namespace tokenscope
