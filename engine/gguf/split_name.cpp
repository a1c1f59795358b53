#include "engine/gguf/split_name.h"

#include <fmt/format.h>

#include <string_view>

namespace tokenscope {
namespace {

constexpr std::size_t kDigits = 5;

// -1: not five digits.
int fiveDigits(std::string_view text)
{
    int number = 0;
    for (const char digit : text) {
        if (digit < '0' || digit > '9')
            return -1;
        number = number * 10 + (digit - '0');
    }
    return number;
}

}  // namespace

std::optional<SplitName> parseSplitName(const std::filesystem::path& path)
{
    constexpr std::string_view kExtension = ".gguf";
    constexpr std::string_view kOf = "-of-";
    constexpr std::size_t kTail = 1 + kDigits + kOf.size() + kDigits;  // "-00001-of-00003"
    const std::string name = path.filename().string();
    std::string_view rest = name;
    if (!rest.ends_with(kExtension))
        return std::nullopt;
    rest.remove_suffix(kExtension.size());
    if (rest.size() < kTail)
        return std::nullopt;
    const std::string_view tail = rest.substr(rest.size() - kTail);
    const int number = fiveDigits(tail.substr(1, kDigits));
    const int count = fiveDigits(tail.substr(kTail - kDigits));
    if (tail[0] != '-' || tail.substr(1 + kDigits, kOf.size()) != kOf || number < 1 || count < number)
        return std::nullopt;
    return SplitName{path.parent_path(), std::string(rest.substr(0, rest.size() - kTail)),
                     static_cast<std::uint64_t>(number), static_cast<std::uint64_t>(count)};
}

std::filesystem::path splitPath(const SplitName& name, std::uint64_t number)
{
    return name.folder / fmt::format("{}-{:05}-of-{:05}.gguf", name.stem, number, name.count);
}

}  // namespace tokenscope
