// tokenize and render: the text side of a model, without loading its weights.
#include "app/cli/command_line.h"
#include "app/cli/commands.h"
#include "engine/gguf/gguf_file.h"
#include "engine/template/chat_template.h"
#include "engine/tokenizer/tokenizer.h"

#include <memory>
#include <optional>

#include <CLI/App.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tokenscope::cli {
namespace {

using nlohmann::json;

struct TextSide {
    GgufFile file;
    std::shared_ptr<const Tokenizer> tokenizer;
};

Result<TextSide> openTextSide(const CommonOptions& options)
{
    auto file = GgufFile::open(options.model);
    if (!file)
        return tl::unexpected(file.error());
    auto tokenizer = Tokenizer::create(*file, options.settings.engine.pretokenizer);
    if (!tokenizer)
        return tl::unexpected(tokenizer.error());
    return TextSide{std::move(*file), std::move(*tokenizer)};
}

// For people: a token a line, control characters escaped.
std::string listing(const std::vector<TokenId>& ids, const Tokenizer& tokenizer)
{
    std::string text;
    for (TokenId id : ids)
        text += fmt::format("{:>8}  {}\n", id,
                            json(tokenizer.decode(id, true)).dump(-1, ' ', false, json::error_handler_t::replace));
    return text;
}

struct TokenizeOptions {
    std::optional<std::string> text;
    std::optional<std::string> file;
    bool special = false;
    bool bos = false;
};

Result<int> tokenize(const CommonOptions& options, const TokenizeOptions& wanted)
{
    if (wanted.text.has_value() == wanted.file.has_value())
        return fail(ErrorCode::BadInput, "tokenize needs either --text or --file (- is standard input)");
    const auto side = openTextSide(options);
    if (!side)
        return tl::unexpected(side.error());
    const auto text = wanted.text ? Result<std::string>(*wanted.text) : readTextFile(*wanted.file);
    if (!text)
        return tl::unexpected(text.error());

    EncodedText encoded = side->tokenizer->encode(*text, wanted.special);
    if (wanted.bos) {
        const auto bos = side->tokenizer->bos();
        if (!bos)
            return fail(ErrorCode::BadInput, "--bos: {} has no such token", options.model);
        encoded.ids.insert(encoded.ids.begin(), *bos);
    }
    if (encoded.droppedBytes > 0 && !options.quiet)
        writeError(fmt::format("note: {} bytes that the vocabulary lacks were dropped", encoded.droppedBytes));

    bool written = false;
    if (options.json) {
        json tokens = json::array();
        for (TokenId id : encoded.ids)
            tokens.push_back(side->tokenizer->tokenText(id));
        json document{{"ids", encoded.ids}, {"tokens", std::move(tokens)}};
        if (encoded.droppedBytes > 0)
            document["dropped_bytes"] = encoded.droppedBytes;
        written = printJson(document);
    } else {
        written = writeOut(listing(encoded.ids, *side->tokenizer));
    }
    if (!written)
        return tl::unexpected(outputFailed());
    return kDone;
}

tl::unexpected<Error> badMessages(const std::string& file, const std::string& what)
{
    return fail(ErrorCode::BadInput, "{}: {}; expected [{{\"role\":\"user\",\"content\":\"…\"}}, …]", file, what);
}

Result<std::vector<ChatMessage>> readMessages(const std::string& path)
{
    const auto text = readTextFile(path);
    if (!text)
        return tl::unexpected(text.error());
    json document = json::parse(*text, nullptr, false);
    if (document.is_object() && document.contains("messages"))
        document = json(document["messages"]);
    if (document.is_discarded())
        return badMessages(path, "is not JSON");
    if (!document.is_array())
        return badMessages(path, fmt::format("holds a {}, not a list of messages", document.type_name()));
    std::vector<ChatMessage> messages;
    for (const json& entry : document) {
        const std::string where = fmt::format("message {}", messages.size() + 1);
        for (const char* field : {"role", "content"}) {
            if (!entry.is_object() || !entry.contains(field) || !entry[field].is_string())
                return badMessages(path, fmt::format("{} has no string \"{}\"", where, field));
        }
        messages.push_back({entry["role"].get<std::string>(), entry["content"].get<std::string>()});
    }
    return messages;
}

struct RenderOptions {
    std::string messages;
    bool noGenerationPrompt = false;
};

Result<std::string> templateSource(const CommonOptions& options, const GgufFile& file)
{
    const std::string& instead = options.settings.engine.templateOverride;
    if (instead == "raw")
        return fail(ErrorCode::BadSetting, "--template raw: render needs a template");
    if (!instead.empty())
        return readTextFile(instead);
    const auto own = file.stringValue("tokenizer.chat_template");
    if (!own)
        return tl::unexpected(own.error());
    if (!*own)
        return fail(ErrorCode::BadInput, "{}: has no chat template; give one with --template FILE", options.model);
    return **own;
}

Result<int> render(const CommonOptions& options, const RenderOptions& wanted)
{
    const auto side = openTextSide(options);
    if (!side)
        return tl::unexpected(side.error());
    const auto messages = readMessages(wanted.messages);
    if (!messages)
        return tl::unexpected(messages.error());
    const auto source = templateSource(options, side->file);
    if (!source)
        return tl::unexpected(source.error());
    const auto parsed = ChatTemplate::parse(*source);
    if (!parsed)
        return tl::unexpected(parsed.error());

    TemplateVariables variables{.messages = *messages, .addGenerationPrompt = !wanted.noGenerationPrompt};
    if (const auto bos = side->tokenizer->bos())
        variables.bosToken = side->tokenizer->tokenText(*bos);
    if (const auto eos = side->tokenizer->eos())
        variables.eosToken = side->tokenizer->tokenText(*eos);
    const auto segments = (*parsed)->render(variables);
    if (!segments)
        return tl::unexpected(segments.error());
    const std::string text = joinSegments(*segments);
    const bool written = options.json
                             ? printJson({{"text", text}, {"ids", side->tokenizer->encodeSegments(*segments).ids}})
                             : writeOut(text);
    if (!written)
        return tl::unexpected(outputFailed());
    return kDone;
}

}  // namespace

void addTokenize(CommandLine& line)
{
    auto wanted = std::make_shared<TokenizeOptions>();
    CLI::App& command =
        line.add("tokenize", "text to token ids", CommandLine::kOutput | CommandLine::kModel | CommandLine::kEngine,
                 [wanted](const CommonOptions& options) { return tokenize(options, *wanted); });
    command.add_option("--text", wanted->text, "the text");
    command.add_option("--file", wanted->file, "a file with the text, - is standard input");
    command.add_flag("--special", wanted->special, "text of special tokens becomes those tokens");
    command.add_flag("--bos", wanted->bos, "put the beginning-of-sequence token first");
}

void addRender(CommandLine& line)
{
    auto wanted = std::make_shared<RenderOptions>();
    CLI::App& command = line.add("render", "messages through the model's chat template",
                                 CommandLine::kOutput | CommandLine::kModel | CommandLine::kEngine,
                                 [wanted](const CommonOptions& options) { return render(options, *wanted); });
    command
        .add_option("--messages", wanted->messages, "a JSON file with a list of {role, content}, - is standard input")
        ->required();
    command.add_flag("--no-generation-prompt", wanted->noGenerationPrompt, "do not open the answer's turn");
}

}  // namespace tokenscope::cli
