// tokenscope_make_test_models FOLDER: writes small good model files and broken ones, for trying the command line.
#include "tests/support/broken_models.h"
#include "tests/support/test_model.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string_view>

int main(int argumentCount, char** arguments)
{
    using namespace tokenscope::test;
    if (argumentCount < 2 || argumentCount > 3 || (argumentCount == 3 && std::string_view(arguments[2]) != "--large")) {
        fmt::print(stderr, "usage: {} FOLDER [--large]\n  --large: also a model of Llama-3.2-1B's shape, 0.7 GB\n",
                   arguments[0]);
        return 2;
    }
    const std::filesystem::path folder = arguments[1];
    std::error_code error;
    std::filesystem::create_directories(folder / "good", error);
    std::filesystem::create_directories(folder / "broken", error);
    if (error) {
        fmt::print(stderr, "{}: {}\n", folder.string(), error.message());
        return 1;
    }
    for (const GoodModel& good : goodModels())
        good.writer.write(folder / "good" / (good.name + ".gguf"));
    writeSplit(makeTestModel().splitInto(3), folder / "good", "llama-split");
    if (argumentCount == 3)
        makeTestModel(llama1bShape(tokenscope::kernels::DType::Q4_0))
            .write(folder / "good" / "llama-1b-shape-q4_0.gguf");
    const auto broken = brokenModels();
    for (const BrokenModel& model : broken) {
        std::ofstream file(folder / "broken" / (model.name + ".gguf"), std::ios::binary);
        file.write(model.bytes.data(), static_cast<std::streamsize>(model.bytes.size()));
        if (!file.flush()) {
            fmt::print(stderr, "{}.gguf could not be written\n", model.name);
            return 1;
        }
    }
    fmt::print("{} good and {} broken files in {}\n", goodModels().size() + 3, broken.size(), folder.string());
    return 0;
}
