#include "engine/request_intake.h"

#include "engine/template/chat_template.h"
#include "engine/tokenizer/tokenizer.h"

#include <span>

#include <fmt/format.h>

namespace tokenscope {
namespace {

// Puts the encoded text and the one BOS together.
void takeEncoded(PreparedPrompt& prompt, EncodedText&& encoded, const Tokenizer& tokenizer)
{
    prompt.ids = std::move(encoded.ids);
    prompt.droppedBytes = static_cast<int>(encoded.droppedBytes);
    if (prompt.droppedBytes > 0)
        prompt.warnings.push_back(
            fmt::format("{} bytes of the prompt were dropped: the model's vocabulary has no token "
                        "for them",
                        prompt.droppedBytes));
    const auto bos = tokenizer.bos();
    if (!tokenizer.addsBos() || !bos)
        return;
    if (!prompt.ids.empty() && prompt.ids.front() == *bos) {
        prompt.warnings.push_back(
            "the prompt begins with the beginning-of-sequence token and the model's file asks for "
            "it too: it is given once");
        return;
    }
    prompt.ids.insert(prompt.ids.begin(), *bos);
}

Result<void> encodeChat(PreparedPrompt& prompt, const ChatPrompt& chat, const ModelText& model)
{
    std::span<const ChatMessage> messages = chat.messages;
    if (messages.empty())
        return fail(ErrorCode::BadInput, "the chat has no messages: write one first");
    if (chat.continueLast && messages.back().role != "assistant")
        return fail(ErrorCode::BadInput,
                    "only an answer can be continued, and the last of {} messages is of role \"{}\"", messages.size(),
                    messages.back().role);
    const Tokenizer& tokenizer = *model.tokenizer;

    if (!model.chatTemplate) {
        if (!model.templateError.empty())
            return fail(ErrorCode::TemplateFailed,
                        "the chat template cannot be used: {}; choose --template raw to complete plain text",
                        model.templateError);
        std::string text;
        for (const ChatMessage& message : messages)
            text += (&message == messages.data() ? "" : "\n") + message.content;
        prompt.warnings.push_back("no chat template is in use: the messages are completed as plain text");
        takeEncoded(prompt, tokenizer.encode(text, false), tokenizer);
        return {};
    }

    TemplateVariables variables;
    variables.messages = chat.continueLast ? messages.first(messages.size() - 1) : messages;
    variables.addGenerationPrompt = true;
    if (const auto bos = tokenizer.bos())
        variables.bosToken = tokenizer.tokenText(*bos);
    if (const auto eos = tokenizer.eos())
        variables.eosToken = tokenizer.tokenText(*eos);
    auto segments = model.chatTemplate->render(variables);
    if (!segments)
        return tl::unexpected(segments.error());
    if (chat.continueLast)
        segments->push_back({messages.back().content, true});
    takeEncoded(prompt, tokenizer.encodeSegments(*segments), tokenizer);
    return {};
}

Result<void> takeIds(PreparedPrompt& prompt, const std::vector<TokenId>& ids, const Tokenizer& tokenizer)
{
    for (std::size_t i = 0; i < ids.size(); ++i)
        if (ids[i] < 0 || ids[i] >= tokenizer.vocabularySize())
            return fail(ErrorCode::BadInput, "id {} at place {} of the prompt is not in the vocabulary (0 to {})",
                        ids[i], i, tokenizer.vocabularySize() - 1);
    prompt.ids = ids;
    return {};
}

}  // namespace

Result<PreparedPrompt> preparePrompt(const RequestSpec& spec, const ModelText& model)
{
    PreparedPrompt prompt;
    Result<void> taken;
    if (const auto* text = std::get_if<TextPrompt>(&spec.prompt))
        takeEncoded(prompt, model.tokenizer->encode(text->text, text->parseSpecial), *model.tokenizer);
    else if (const auto* chat = std::get_if<ChatPrompt>(&spec.prompt))
        taken = encodeChat(prompt, *chat, model);
    else if (const auto* ids = std::get_if<IdsPrompt>(&spec.prompt))
        taken = takeIds(prompt, ids->ids, *model.tokenizer);
    else if (const auto* score = std::get_if<ScorePrompt>(&spec.prompt))
        taken = takeIds(prompt, score->ids, *model.tokenizer);
    if (!taken)
        return tl::unexpected(taken.error());

    if (std::holds_alternative<ScorePrompt>(spec.prompt) && prompt.ids.size() < 2)
        return fail(ErrorCode::BadInput,
                    "scoring needs at least 2 ids and was given {}: the first has nothing before it",
                    prompt.ids.size());
    if (prompt.ids.empty())
        return fail(ErrorCode::BadInput, prompt.droppedBytes > 0
                                             ? fmt::format("nothing is left of the prompt: the vocabulary has no token "
                                                           "for its {} bytes",
                                                           prompt.droppedBytes)
                                             : "the prompt is empty and this model begins with no token of its own: "
                                               "write something");
    return prompt;
}

}  // namespace tokenscope
