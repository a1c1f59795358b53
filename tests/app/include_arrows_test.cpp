// The arrows of ARCHITECTURE.md, read off the #include lines: which room may see which.
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

namespace fs = std::filesystem;

const fs::path kRoot = TOKENSCOPE_SOURCE_DIR;

bool startsWith(const std::string& text, const std::string& prefix)
{
    return text.rfind(prefix, 0) == 0;
}

bool startsWithAny(const std::string& text, const std::vector<std::string>& prefixes)
{
    for (const std::string& prefix : prefixes)
        if (startsWith(text, prefix))
            return true;
    return false;
}

// Which of our own headers a file in this folder may include. The longest folder that fits counts.
const std::map<std::string, std::vector<std::string>> kAllowed{
    {"kernels/", {"kernels/"}},
    {"engine/base/", {"engine/base/"}},
    {"engine/", {"engine/", "kernels/"}},
    {"storage/", {"storage/", "engine/base/", "engine/types/"}},
    {"app/services/", {"app/services/", "storage/", "engine/", "kernels/cpu/ceilings.h", "kernels/cpu/cpu_backend.h"}},
    {"app/cli", {"app/services/", "app/cli/", "storage/", "engine/"}},
    {"app/bridge/", {"app/bridge/", "app/services/", "storage/", "engine/"}},
    {"app/window/", {"app/window/"}},
    {"app/main.cpp", {"app/", "ui/", "storage/", "engine/"}},
    {"ui/", {"ui/", "app/services/", "app/bridge/", "engine/types/", "engine/base/"}},
};

struct Include {
    std::string from;  // path from the root
    std::string target;
    bool quoted;
};

std::vector<Include> allIncludes()
{
    static const std::regex pattern(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
    std::vector<Include> includes;
    for (const char* room : {"kernels", "engine", "storage", "app", "ui"})
        for (const auto& entry : fs::recursive_directory_iterator(kRoot / room)) {
            const std::string extension = entry.path().extension().string();
            if (extension != ".h" && extension != ".cpp" && extension != ".cu" && extension != ".cuh")
                continue;
            std::ifstream file(entry.path());
            for (std::string line; std::getline(file, line);) {
                std::smatch match;
                if (std::regex_search(line, match, pattern))
                    includes.push_back(
                        {fs::relative(entry.path(), kRoot).generic_string(), match[2], match[1] == "\""});
            }
        }
    return includes;
}

TEST(IncludeArrows, NoRoomSeesWhatItMustNot)
{
    int checked = 0;
    for (const Include& include : allIncludes()) {
        if (!include.quoted || startsWith(include.target, "moc_") || include.target.ends_with(".moc"))
            continue;
        std::string best;
        for (const auto& [folder, targets] : kAllowed)
            if (startsWith(include.from, folder) && folder.size() > best.size())
                best = folder;
        ASSERT_FALSE(best.empty()) << include.from << " lies in no room";
        ++checked;
        EXPECT_TRUE(startsWithAny(include.target, kAllowed.at(best))) << include.from << " includes " << include.target;
        EXPECT_TRUE(fs::exists(kRoot / include.target))
            << include.from << ": include paths start at the root: " << include.target;
    }
    EXPECT_GT(checked, 50);
}

TEST(IncludeArrows, EachLibraryStaysInItsRoom)
{
    for (const auto& [from, target, quoted] : allIncludes()) {
        if (quoted)
            continue;
        if (target.size() > 1 && target[0] == 'Q' && std::isupper(static_cast<unsigned char>(target[1]))) {
            EXPECT_TRUE(startsWithAny(from, {"ui/", "app/bridge/", "app/main.cpp"})) << from << " includes " << target;
        }
        EXPECT_NE(target, "QtWidgets") << from;
        EXPECT_NE(target, "QtCharts") << from;
        const bool isChart = startsWithAny(target, {"QChart", "QtCharts/"}) || target.ends_with("Series") ||
                             (startsWith(target, "Q") && target.ends_with("Axis"));
        if (isChart) {
            EXPECT_TRUE(startsWith(from, "ui/charts/")) << from << " includes Qt Charts: " << target;
        }
        if (startsWith(target, "sqlite3")) {
            EXPECT_TRUE(startsWith(from, "storage/")) << from << " includes SQLite";
        }
        if (startsWith(target, "spdlog/")) {
            EXPECT_EQ(from, "engine/base/log.cpp");
        }
        if (startsWith(target, "cuda")) {
            EXPECT_TRUE(startsWith(from, "kernels/cuda/")) << from << " includes CUDA";
        }
    }
}

}  // namespace
