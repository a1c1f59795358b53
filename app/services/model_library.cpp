#include "app/services/model_library.h"

#include "engine/device.h"
#include "engine/engine.h"
#include "engine/gguf/gguf_file.h"
#include "engine/gguf/split_name.h"
#include "engine/model/model.h"
#include "engine/plan/budget.h"

#include <algorithm>
#include <set>

namespace tokenscope {
namespace {

namespace fs = std::filesystem;

bool isGguf(const fs::path& path)
{
    std::string ending = path.extension().string();
    std::transform(ending.begin(), ending.end(), ending.begin(), [](unsigned char c) { return std::tolower(c); });
    return ending == ".gguf";
}

// Of a split model only the first part stands for it, unless that is missing: then the error of the part tells.
bool isLaterPart(const fs::path& path)
{
    const auto name = parseSplitName(path);
    std::error_code ignored;
    return name && name->number != 1 && fs::exists(splitPath(*name, 1), ignored);
}

class Scan {
public:
    void folder(const fs::path& path)
    {
        std::error_code problem;
        const fs::path real = fs::canonical(path, problem);
        if (problem || !m_seen.insert(real).second)  // seen: a link that leads back
            return;
        for (fs::directory_iterator entry(real, fs::directory_options::skip_permission_denied, problem), end;
             !problem && entry != end; entry.increment(problem)) {
            const fs::path& found = entry->path();
            if (found.filename().string().starts_with('.'))
                continue;
            std::error_code ignored;
            if (entry->is_directory(ignored))
                folder(found);
            else if (entry->is_regular_file(ignored) && isGguf(found) && !isLaterPart(found))
                file(found);
        }
    }
    void file(const fs::path& path)
    {
        std::error_code problem;
        const fs::path real = fs::canonical(path, problem);
        if (problem || !m_seen.insert(real).second)
            return;
        LibraryEntry entry;
        if (auto info = inspectModelFile(path)) {
            entry.info = std::move(*info);
        } else {
            entry.info.path = path.string();
            entry.info.name = path.filename().string();
            entry.problem = info.error().message;
        }
        m_entries.push_back(std::move(entry));
    }
    std::vector<LibraryEntry> take()
    {
        std::sort(m_entries.begin(), m_entries.end(),
                  [](const LibraryEntry& a, const LibraryEntry& b) { return a.info.path < b.info.path; });
        return std::move(m_entries);
    }

private:
    std::set<fs::path> m_seen;
    std::vector<LibraryEntry> m_entries;
};

}  // namespace

std::vector<LibraryEntry> scanModels(const std::vector<fs::path>& folders)
{
    Scan scan;
    for (const fs::path& path : folders) {
        std::error_code ignored;
        if (fs::is_directory(path, ignored))
            scan.folder(path);
        else if (fs::exists(path, ignored))
            scan.file(path);
    }
    return scan.take();
}

Result<ModelInfo> inspectModelFile(const fs::path& path)
{
    const auto file = GgufFile::open(path);
    if (!file)
        return tl::unexpected(file.error());
    return describeModel(*file);
}

Result<MemoryBudget> budgetForFile(const fs::path& path, const EngineSettings& settings)
{
    const auto file = GgufFile::open(path);
    if (!file)
        return tl::unexpected(file.error());
    const auto mapping = file->map();
    if (!mapping)
        return tl::unexpected(mapping.error());
    const auto program = buildLayerProgram(*file, **mapping);
    if (!program)
        return tl::unexpected(program.error());
    const auto device = resolveDevice(settings);
    if (!device)
        return tl::unexpected(device.error());
    const auto backend = makeBackend(*device);
    if (!backend)
        return tl::unexpected(backend.error());
    return planMemory(*program, describeModel(*file).trainedContext, settings, (*backend)->estimate(*program),
                      systemMemoryLimit().availableBytes());
}

}  // namespace tokenscope
