#include "engine/gguf/gguf_file.h"
#include "tests/support/test_data.h"

#include <gtest/gtest.h>

namespace tokenscope {
namespace {

TEST(GgufRealFiles, SmolLm2IsReadAsPublished)
{
    const auto path = test::smollm2();
    if (!path)
        GTEST_SKIP() << test::kNoModel;
    const auto file = GgufFile::open(*path);
    ASSERT_TRUE(file) << file.error().message;

    EXPECT_EQ(file->version, 3u);
    EXPECT_EQ(file->fileBytes, 98'362'432u);
    EXPECT_EQ(file->tensors.size(), 272u);
    EXPECT_EQ(file->stringValue("general.architecture").value(), "llama");
    EXPECT_EQ(file->unsignedValue("llama.block_count").value(), 30u);
    EXPECT_EQ(file->stringArray("tokenizer.ggml.tokens")->size(), 49'152u);
    EXPECT_EQ(file->stringArray("tokenizer.ggml.merges")->size(), 48'900u);
    const GgufTensor* embedding = file->findTensor("token_embd.weight");
    ASSERT_TRUE(embedding);
    EXPECT_EQ(embedding->shape, (std::vector<std::int64_t>{576, 49'152}));
    EXPECT_EQ(embedding->bytes, 49'152u * 576u / 32u * 34u);
}

TEST(GgufRealFiles, Gemma3IsReadAsPublished)
{
    const auto path = test::gemma3();
    if (!path)
        GTEST_SKIP() << test::kNoModel;
    const auto file = GgufFile::open(*path);
    ASSERT_TRUE(file) << file.error().message;

    EXPECT_EQ(file->stringValue("general.architecture").value(), "gemma3");
    EXPECT_EQ(file->stringArray("tokenizer.ggml.tokens")->size(), 262'144u);
    EXPECT_EQ(file->numberArray("tokenizer.ggml.scores").value()->size(), 262'144u);
    EXPECT_EQ(file->unsignedValue("gemma3.attention.sliding_window").value(), 512u);
}

TEST(GgufRealFiles, EveryTensorOfAMappedFileCanBeTouched)
{
    const auto path = test::smollm2();
    if (!path)
        GTEST_SKIP() << test::kNoModel;
    const auto file = GgufFile::open(*path);
    ASSERT_TRUE(file) << file.error().message;
    const auto mapping = file->map();
    ASSERT_TRUE(mapping) << mapping.error().message;

    std::uint64_t bytes = 0;
    for (const GgufTensor& tensor : file->tensors) {
        const std::span<const std::byte> data = (*mapping)->tensorBytes(tensor);
        bytes += data.size();
        const volatile std::byte* first = &data.front();
        const volatile std::byte* last = &data.back();
        (void)*first;
        (void)*last;
        (*mapping)->release(tensor);
        (void)*first;
    }
    EXPECT_GT(bytes, 96'000'000u);
    EXPECT_TRUE((*mapping)->checkUnchanged());
}

}  // namespace
}  // namespace tokenscope
