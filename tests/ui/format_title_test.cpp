#include "ui/widgets/format.h"

#include <gtest/gtest.h>

namespace tokenscope::ui {
namespace {

TEST(ModelTitle, IsTheFilesNameWithoutEndingAndFormat)
{
    const auto title = [](const char* path, const char* type) {
        return modelTitle(QString::fromUtf8(path), QString::fromLatin1(type)).toStdString();
    };
    EXPECT_EQ(title("/m/SmolLM2-135M-Instruct.Q4_1.gguf", "Q4_1"), "SmolLM2-135M-Instruct");
    EXPECT_EQ(title("/m/gemma-3-270m-q4_k_m.gguf", "Q8_0"), "gemma-3-270m-q4_k_m");
    EXPECT_EQ(title("/m/Modèle-q8_0.gguf", "Q8_0"), "Modèle");
    EXPECT_EQ(title("/m/a.gguf", ""), "a");
}

}  // namespace
}  // namespace tokenscope::ui
