#include "app/cli/command_line.h"
#include "app/cli/commands.h"
#include "engine/gguf/gguf_file.h"
#include "engine/model/model.h"

#include <CLI/App.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tokenscope::cli {
namespace {

using nlohmann::json;

// A vocabulary has a hundred thousand entries: of a long list its length and beginning.
constexpr std::size_t kWholeList = 64;
constexpr std::size_t kShownOfList = 8;

json listDocument(const GgufArray& array)
{
    return std::visit(
        [](const auto& values) {
            json list = json::array();
            const std::size_t shown = values.size() <= kWholeList ? values.size() : kShownOfList;
            for (std::size_t i = 0; i < shown; ++i)
                list.push_back(static_cast<typename std::decay_t<decltype(values)>::value_type>(values[i]));
            if (shown == values.size())
                return list;
            return json{{"length", values.size()}, {"first", std::move(list)}};
        },
        array.values);
}

json valueDocument(const GgufValue& value)
{
    if (const auto* array = std::get_if<GgufArray>(&value))
        return listDocument(*array);
    return std::visit(
        [](const auto& scalar) -> json {
            if constexpr (std::is_same_v<std::decay_t<decltype(scalar)>, GgufArray>)
                return nullptr;
            else
                return scalar;
        },
        value);
}

std::string typeName(std::uint32_t typeId)
{
    const auto info = kernels::dtypeInfo(typeId);
    return info ? std::string(info->name) : fmt::format("type {}", typeId);
}

json inspectDocument(const GgufFile& file, const ModelInfo& info)
{
    json metadata = json::object();
    for (const auto& [key, value] : file.metadata)
        metadata[key] = valueDocument(value);
    json tensors = json::array();
    for (const GgufTensor& tensor : file.tensors)
        tensors.push_back({{"name", tensor.name},
                           {"type", typeName(tensor.typeId)},
                           {"shape", tensor.shape},
                           {"bytes", tensor.bytes}});
    const auto source = file.stringValue("tokenizer.chat_template");
    return {{"gguf_version", file.version},
            {"architecture", info.architecture},
            {"runnable", info.runnable},
            {"reason", info.runnable ? json(nullptr) : json(info.whyNotRunnable)},
            {"name", info.name},
            {"file_bytes", info.fileBytes},
            {"parameters", info.parameters},
            {"bits_per_weight", info.bitsPerWeight},
            {"context_length", info.trainedContext},
            {"tokenizer", info.tokenizer},
            {"template", source && *source ? json(**source) : json(nullptr)},
            {"metadata", std::move(metadata)},
            {"tensors", std::move(tensors)}};
}

std::string shapeText(const std::vector<std::int64_t>& shape)
{
    return fmt::format("{}", fmt::join(shape, " × "));
}

std::string summary(const GgufFile& file, const ModelInfo& info)
{
    std::string text;
    const auto line = [&text](std::string_view name, const std::string& value) {
        text += fmt::format("{:<16}{}\n", name, value);
    };
    line("Name", info.name);
    line("Architecture", info.architecture);
    line("Runnable", info.runnable ? "yes" : "no: " + info.whyNotRunnable);
    line("File", fmt::format("{} bytes in {} part{}, GGUF version {}", info.fileBytes, file.parts.size(),
                             file.parts.size() == 1 ? "" : "s", file.version));
    line("Parameters", fmt::format("{} ({:.2f} bits each)", info.parameters, info.bitsPerWeight));
    line("Tensors", info.tensorMix);
    line("Context", fmt::format("{} tokens", info.trainedContext));
    line("Shape", fmt::format("{} layers, width {}, {} heads, {} KV heads", info.layers, info.embedding, info.heads,
                              info.kvHeads));
    line("Tokenizer", fmt::format("{}, {} tokens", info.tokenizer, info.vocabulary));
    line("Chat template", info.hasChatTemplate ? "yes" : "none: text is completed");
    text += "\nMetadata\n";
    for (const auto& [key, value] : file.metadata) {
        std::string shown = valueDocument(value).dump(-1, ' ', false, json::error_handler_t::replace);
        constexpr std::size_t kLongest = 160;
        if (shown.size() > kLongest) {
            std::size_t cut = kLongest;
            while (cut > 0 && (static_cast<unsigned char>(shown[cut]) & 0xc0) == 0x80)
                --cut;
            shown = shown.substr(0, cut) + " …";
        }
        text += fmt::format("  {} = {}\n", key, shown);
    }
    text += "\nTensors\n";
    for (const GgufTensor& tensor : file.tensors)
        text += fmt::format("  {:<40} {:<6} {:>24} {:>14}\n", tensor.name, typeName(tensor.typeId),
                            shapeText(tensor.shape), tensor.bytes);
    return text;
}

}  // namespace

void addInspect(CommandLine& line)
{
    line.add("inspect", "what a GGUF file holds, and whether it can be run", CommandLine::kOutput | CommandLine::kModel,
             [](const CommonOptions& options) -> Result<int> {
                 const auto file = GgufFile::open(options.model);
                 if (!file)
                     return tl::unexpected(file.error());
                 const ModelInfo info = describeModel(*file);
                 const bool written =
                     options.json ? printJson(inspectDocument(*file, info)) : writeOut(summary(*file, info));
                 if (!written)
                     return tl::unexpected(outputFailed());
                 return kDone;
             });
}

}  // namespace tokenscope::cli
