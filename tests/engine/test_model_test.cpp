// The generator of test models is itself under test: its files are read back, and its weights are sane in all formats.
#include "tests/support/test_model.h"

#include "engine/gguf/gguf_file.h"
#include "kernels/reference/dequantize.h"
#include "tests/support/random_weights.h"
#include "tests/support/temp_folder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

namespace tokenscope {
namespace {

using kernels::DType;

constexpr DType kAllTypes[] = {DType::F32,  DType::F16,  DType::BF16, DType::Q4_0, DType::Q4_1,
                               DType::Q5_0, DType::Q5_1, DType::Q8_0, DType::Q2_K, DType::Q3_K,
                               DType::Q4_K, DType::Q5_K, DType::Q6_K};

TEST(TestModel, RandomWeightsOfEveryFormatAreFiniteAndOfTheWantedSpread)
{
    constexpr int kElements = 64 * 256;
    constexpr double kSpread = 0.05;
    for (const DType type : kAllTypes) {
        const std::string bytes = test::randomTensor(type, kElements, kSpread, 7);
        std::vector<float> values(kElements);
        kernels::dequantizeRow(type, reinterpret_cast<const std::byte*>(bytes.data()), values.data(), kElements);
        double sum = 0.0;
        double squares = 0.0;
        for (const float value : values) {
            ASSERT_TRUE(std::isfinite(value)) << kernels::dtypeInfo(type).name;
            sum += value;
            squares += static_cast<double>(value) * value;
        }
        EXPECT_NEAR(std::sqrt(squares / kElements), kSpread, 0.3 * kSpread) << kernels::dtypeInfo(type).name;
        // Q4_0 runs from −8 to 7: its mean is −0.5 of a step, 0.11 of the spread.
        EXPECT_NEAR(sum / kElements, 0.0, 0.15 * kSpread) << kernels::dtypeInfo(type).name;
    }
}

TEST(TestModel, TheSameSeedGivesTheSameBytes)
{
    test::TestModelSpec spec;
    EXPECT_EQ(test::makeTestModel(spec).bytes(), test::makeTestModel(spec).bytes());
    test::TestModelSpec other;
    other.seed = 2;
    EXPECT_NE(test::makeTestModel(spec).bytes(), test::makeTestModel(other).bytes());
}

TEST(TestModel, WrittenFilesAreReadBackAsMeant)
{
    const test::TempFolder folder;
    const auto path = folder.file("small.gguf");
    test::TestModelSpec spec;
    spec.type = DType::Q5_1;
    test::makeTestModel(spec).write(path);

    const auto file = GgufFile::open(path);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(file->stringValue("general.architecture").value(), "llama");
    EXPECT_EQ(file->stringArray("tokenizer.ggml.tokens")->size(), 277u);
    const GgufTensor* down = file->findTensor("blk.1.ffn_down.weight");
    ASSERT_TRUE(down);
    EXPECT_EQ(down->shape, (std::vector<std::int64_t>{128, 64}));
    EXPECT_EQ(down->bytes, 64u * 128u / 32u * 24u);

    const auto mapping = file->map();
    ASSERT_TRUE(mapping) << mapping.error().message;
    const auto bytes = (*mapping)->tensorBytes(*down);
    const std::string expected = test::makeTestModel(spec).findTensor("blk.1.ffn_down.weight")->data;
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), expected);
}

TEST(TestModel, RowsThatDoNotFitAFormatAreKeptInAnother)
{
    test::TestModelSpec spec;
    spec.type = DType::Q4_K;  // rows of 64 and 128 are not multiples of 256
    test::GgufWriter writer = test::makeTestModel(spec);
    EXPECT_EQ(writer.findTensor("blk.0.attn_q.weight")->typeId, static_cast<std::uint32_t>(DType::Q8_0));
}

TEST(TestModel, GemmaHasItsNormsAndWindow)
{
    const test::TempFolder folder;
    const auto path = folder.file("gemma.gguf");
    test::makeTestModel(test::smallGemma3()).write(path);

    const auto file = GgufFile::open(path);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_TRUE(file->findTensor("blk.5.post_ffw_norm.weight"));
    EXPECT_EQ(file->unsignedValue("gemma3.attention.sliding_window").value(), 48u);
    EXPECT_EQ(file->stringArray("tokenizer.ggml.tokens")->size(),
              file->numberArray("tokenizer.ggml.scores").value()->size());
}

}  // namespace
}  // namespace tokenscope
