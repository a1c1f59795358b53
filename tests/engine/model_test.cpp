#include "engine/model/model.h"

#include "tests/support/temp_folder.h"
#include "tests/support/test_data.h"
#include "tests/support/test_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

namespace tokenscope {
namespace {

using kernels::DType;
using testing::HasSubstr;

// A written file, opened and mapped as long as a test looks at its program.
struct Opened {
    test::TempFolder folder;
    GgufFile file;
    std::unique_ptr<GgufMapping> mapping;

    explicit Opened(const test::GgufWriter& writer)
    {
        writer.write(folder.file("m.gguf"));
        file = GgufFile::open(folder.file("m.gguf")).value();
        mapping = file.map().value();
    }
    Result<kernels::LayerProgram> program() const { return buildLayerProgram(file, *mapping); }
    Error error() const { return program().error(); }
};

TEST(Model, LlamaBecomesItsLayerProgram)
{
    test::TestModelSpec spec;
    spec.tiedHead = false;
    spec.ropeBase = 20'000.0f;
    const Opened opened(test::makeTestModel(spec));
    const auto program = opened.program();
    ASSERT_TRUE(program) << program.error().message;

    EXPECT_EQ(program->name, "Test llama");
    EXPECT_EQ(program->embedding, 64);
    EXPECT_EQ(program->feedForward, 128);
    EXPECT_EQ(program->heads, 4);
    EXPECT_EQ(program->kvHeads, 2);
    EXPECT_EQ(program->headDimK, 16);
    EXPECT_EQ(program->headDimV, 16);
    EXPECT_EQ(program->vocabulary, 277);
    EXPECT_FLOAT_EQ(program->normEpsilon, 1e-5f);
    EXPECT_FLOAT_EQ(program->attentionScale, 0.25f);
    EXPECT_EQ(program->embeddingScale, 1.0f);
    EXPECT_EQ(program->activation, kernels::Activation::Silu);
    EXPECT_FALSE(program->tiedHead);
    EXPECT_NE(program->head.data, program->tokenEmbedding.data);
    ASSERT_EQ(program->layers.size(), 2u);
    const kernels::LayerSpec& layer = program->layers[1];
    EXPECT_EQ(layer.k.rows, 32);
    EXPECT_EQ(layer.k.cols, 64);
    EXPECT_EQ(layer.k.type, DType::Q8_0);
    EXPECT_EQ(layer.rope.pairing, kernels::RopePairing::Adjacent);
    EXPECT_EQ(layer.rope.dims, 16);
    EXPECT_EQ(layer.rope.base, 20'000.0f);
    EXPECT_EQ(layer.window, 0);
    EXPECT_FALSE(layer.qNorm);
    EXPECT_FALSE(layer.postAttnNorm);
    EXPECT_FALSE(layer.qBias);
    EXPECT_EQ(layer.down.data, opened.mapping->tensorBytes(*opened.file.findTensor("blk.1.ffn_down.weight")).data());
}

TEST(Model, TiedHeadIsTheEmbeddingItself)
{
    const Opened opened(test::makeTestModel());
    const auto program = opened.program();
    ASSERT_TRUE(program) << program.error().message;
    EXPECT_TRUE(program->tiedHead);
    EXPECT_EQ(program->head.data, program->tokenEmbedding.data);
}

TEST(Model, BiasesAndRopeFactorsAreTakenWhereTheFileHasThem)
{
    test::TestModelSpec spec;
    spec.qkvBias = true;
    spec.ropeFactors = true;
    const Opened opened(test::makeTestModel(spec));
    const auto program = opened.program();
    ASSERT_TRUE(program) << program.error().message;
    EXPECT_EQ(program->layers[0].qBias.cols, 64);
    EXPECT_EQ(program->layers[0].vBias.cols, 32);
    ASSERT_EQ(program->layers[0].rope.divisors.size(), 8u);
    EXPECT_NEAR(program->layers[0].rope.divisors[3], 2.0f, 1.0f);
}

TEST(Model, GemmaHasFiveLocalLayersToOneGlobal)
{
    test::GgufWriter writer = test::makeTestModel(test::smallGemma3());
    const Opened opened(writer);
    const auto program = opened.program();
    ASSERT_TRUE(program) << program.error().message;

    EXPECT_EQ(program->activation, kernels::Activation::GeluTanh);
    EXPECT_FLOAT_EQ(program->embeddingScale, 8.0f);
    EXPECT_FLOAT_EQ(program->attentionScale, 1.0f / std::sqrt(32.0f));
    EXPECT_EQ(program->headDimK, 32);
    ASSERT_EQ(program->layers.size(), 6u);
    for (int layer = 0; layer < 6; ++layer) {
        const kernels::LayerSpec& spec = program->layers[static_cast<std::size_t>(layer)];
        EXPECT_EQ(spec.window, layer == 5 ? 0 : 48) << layer;
        EXPECT_EQ(spec.rope.base, layer == 5 ? 1e6f : 10'000.0f) << layer;
        EXPECT_EQ(spec.rope.pairing, kernels::RopePairing::HalfSplit);
        EXPECT_EQ(spec.rope.dims, 32);
        EXPECT_TRUE(spec.qNorm && spec.kNorm && spec.postAttnNorm && spec.postFfnNorm);
    }
}

TEST(Model, LinearScalingConcernsTheGlobalLayersOnly)
{
    test::GgufWriter writer = test::makeTestModel(test::smallGemma3());
    writer.setString("gemma3.rope.scaling.type", "linear");
    writer.setFloat("gemma3.rope.scaling.factor", 8.0f);
    const Opened opened(writer);
    const auto program = opened.program();
    ASSERT_TRUE(program) << program.error().message;
    EXPECT_FLOAT_EQ(program->layers[0].rope.scale, 1.0f);
    EXPECT_FLOAT_EQ(program->layers[5].rope.scale, 0.125f);
}

TEST(Model, OtherRopeScalingIsRefusedByName)
{
    test::GgufWriter writer = test::makeTestModel();
    writer.setString("llama.rope.scaling.type", "yarn");
    const Error error = Opened(writer).error();
    EXPECT_EQ(error.code, ErrorCode::UnsupportedModel);
    EXPECT_THAT(error.message, HasSubstr("llama.rope.scaling.type is \"yarn\""));
}

TEST(Model, UnknownArchitectureIsNamedWithThoseSupported)
{
    test::GgufWriter writer = test::makeTestModel();
    writer.setString("general.architecture", "qwen3");
    const Opened opened(writer);
    const ModelInfo info = describeModel(opened.file);
    EXPECT_FALSE(info.runnable);
    EXPECT_THAT(info.whyNotRunnable, HasSubstr("\"qwen3\" is not supported; supported are llama, gemma3"));
    EXPECT_EQ(opened.error().code, ErrorCode::UnsupportedModel);
}

TEST(Model, MissingTensorIsNamed)
{
    test::GgufWriter writer = test::makeTestModel();
    writer.removeTensor("blk.1.ffn_up.weight");
    const Error error = Opened(writer).error();
    EXPECT_EQ(error.code, ErrorCode::UnsupportedModel);
    EXPECT_THAT(error.message, HasSubstr("blk.1.ffn_up.weight is missing"));
}

TEST(Model, TensorNobodyReadsIsNamed)
{
    test::GgufWriter writer = test::makeTestModel();
    test::WrittenTensor experts = *writer.findTensor("blk.0.ffn_up.weight");
    experts.name = "blk.0.ffn_up_exps.weight";
    writer.tensors.push_back(experts);
    const Error error = Opened(writer).error();
    EXPECT_EQ(error.code, ErrorCode::UnsupportedModel);
    EXPECT_THAT(error.message, HasSubstr("blk.0.ffn_up_exps.weight"));
}

TEST(Model, ExpertsAreRefusedByTheirCount)
{
    test::GgufWriter writer = test::makeTestModel();
    writer.setUint32("llama.expert_count", 8);
    const Error error = Opened(writer).error();
    EXPECT_EQ(error.code, ErrorCode::UnsupportedModel);
    EXPECT_THAT(error.message, HasSubstr("llama.expert_count is 8"));
}

TEST(Model, ShapeThatContradictsTheMetadataIsNamedWithBoth)
{
    test::GgufWriter writer = test::makeTestModel();
    writer.setUint32("llama.feed_forward_length", 96);
    const Error error = Opened(writer).error();
    EXPECT_EQ(error.code, ErrorCode::BadFile);
    EXPECT_THAT(error.message, HasSubstr("tensor blk.0.ffn_gate.weight is 64 × 128, the metadata ask for 64 × 96"));
}

TEST(Model, FormatWithoutAKernelIsNamed)
{
    test::GgufWriter writer = test::makeTestModel();
    test::WrittenTensor* tensor = writer.findTensor("blk.0.attn_q.weight");
    tensor->typeId = 20;  // IQ4_NL: 18 bytes for 32 elements
    tensor->data.resize(64 * 64 / 32 * 18);
    const Opened opened(writer);
    EXPECT_EQ(opened.error().code, ErrorCode::UnsupportedModel);
    EXPECT_THAT(opened.error().message, HasSubstr("blk.0.attn_q.weight is of format IQ4_NL"));
    EXPECT_THAT(describeModel(opened.file).tensorMix, HasSubstr("IQ4_NL 1"));
}

TEST(Model, PartialRotationAndHeadSizesOfTheirOwnAreRead)
{
    test::TestModelSpec spec;
    spec.headDim = 24;  // 4 · 24 is not the embedding of 64
    test::GgufWriter writer = test::makeTestModel(spec);
    writer.setUint32("llama.rope.dimension_count", 8);
    const Opened opened(writer);
    const auto program = opened.program();
    ASSERT_TRUE(program) << program.error().message;
    EXPECT_EQ(program->headDimK, 24);
    EXPECT_EQ(program->layers[0].rope.dims, 8);
    EXPECT_EQ(program->layers[0].attnOutput.cols, 96);
}

TEST(Model, OneValueALayerIsReadWhereAllAreTheSame)
{
    test::GgufWriter writer = test::makeTestModel();
    writer.setInt32s("llama.attention.head_count_kv", {2, 2});
    EXPECT_EQ(Opened(writer).program().value().kvHeads, 2);
    writer.setInt32s("llama.attention.head_count_kv", {2, 1});
    EXPECT_THAT(Opened(writer).error().message, HasSubstr("is 2 in layer 0 and 1 in layer 1"));
}

struct BadNumber {
    const char* key;
    std::uint32_t value;
    const char* expected;
};

TEST(Model, NumbersOutOfRangeAreNamedWithTheLimit)
{
    const BadNumber cases[] = {
        {"llama.block_count", 0, "llama.block_count is 0, expected 1 to 512"},
        {"llama.block_count", 513, "llama.block_count is 513, expected 1 to 512"},
        {"llama.attention.head_count", 4'000'000'000u, "llama.attention.head_count is 4000000000, expected 1 to 1024"},
        {"llama.attention.head_count_kv", 3, "llama.attention.head_count_kv is 3, not a divisor of the 4 heads"},
        {"llama.attention.head_count", 3, "llama.attention.head_count_kv is 2, not a divisor of the 3 heads"},
        {"llama.embedding_length", 0, "llama.embedding_length is 0, expected 1 to 65536"},
        {"llama.rope.dimension_count", 17,
         "llama.rope.dimension_count is 17, expected an even number up to the head size 16"},
        {"llama.rope.dimension_count", 18, "llama.rope.dimension_count is 18, expected an even number"},
        {"llama.context_length", 0, "llama.context_length is 0"},
    };
    for (const BadNumber& each : cases) {
        test::GgufWriter writer = test::makeTestModel();
        writer.setUint32(each.key, each.value);
        const Error error = Opened(writer).error();
        EXPECT_EQ(error.code, ErrorCode::BadFile) << error.message;
        EXPECT_THAT(error.message, HasSubstr(each.expected));
    }
}

TEST(Model, NumbersThatAreNoneAreNamed)
{
    for (const float value : {0.0f, -1.0f, 2.0f, NAN, INFINITY}) {
        test::GgufWriter writer = test::makeTestModel();
        writer.setFloat("llama.attention.layer_norm_rms_epsilon", value);
        const Error error = Opened(writer).error();
        EXPECT_EQ(error.code, ErrorCode::BadFile);
        EXPECT_THAT(error.message, HasSubstr("layer_norm_rms_epsilon"));
    }
}

TEST(Model, RopeFactorOfZeroIsNamed)
{
    test::TestModelSpec spec;
    spec.ropeFactors = true;
    test::GgufWriter writer = test::makeTestModel(spec);
    writer.findTensor("rope_freqs.weight")->data.replace(8, 4, std::string(4, '\0'));
    const Error error = Opened(writer).error();
    EXPECT_EQ(error.code, ErrorCode::BadFile);
    EXPECT_THAT(error.message, HasSubstr("element 2 of tensor rope_freqs.weight is 0"));
}

TEST(Model, Llama31WithoutItsFactorsIsWarnedAbout)
{
    test::TestModelSpec spec;
    spec.context = 131'072;
    spec.ropeBase = 500'000.0f;
    EXPECT_EQ(modelWarnings(Opened(test::makeTestModel(spec)).file).size(), 1u);
    spec.ropeFactors = true;
    EXPECT_TRUE(modelWarnings(Opened(test::makeTestModel(spec)).file).empty());
}

TEST(Model, SmolLm2IsDescribed)
{
    const auto path = test::smollm2();
    if (!path)
        GTEST_SKIP() << test::kNoModel;
    const GgufFile file = GgufFile::open(*path).value();
    const ModelInfo info = describeModel(file);

    EXPECT_TRUE(info.runnable) << info.whyNotRunnable;
    EXPECT_EQ(info.architecture, "llama");
    EXPECT_EQ(info.tensorMix, "Q4_1 210, F32 61, Q8_0 1");
    EXPECT_EQ(info.mainType, "Q4_1");
    EXPECT_EQ(info.parameters, 134'515'008u);
    EXPECT_NEAR(info.bitsPerWeight, 5.74, 0.01);
    EXPECT_EQ(info.trainedContext, 8192);
    EXPECT_EQ(info.layers, 30);
    EXPECT_EQ(info.vocabulary, 49'152);
    EXPECT_EQ(info.tokenizer, "gpt2 / smollm");
    EXPECT_TRUE(info.hasChatTemplate);
}

TEST(Model, Gemma3IsDescribed)
{
    const auto path = test::gemma3();
    if (!path)
        GTEST_SKIP() << test::kNoModel;
    const GgufFile file = GgufFile::open(*path).value();
    const ModelInfo info = describeModel(file);
    EXPECT_TRUE(info.runnable) << info.whyNotRunnable;
    EXPECT_EQ(info.kvHeads, 1);
    EXPECT_FALSE(info.hasChatTemplate);

    const auto mapping = file.map().value();
    const auto program = buildLayerProgram(file, *mapping);
    ASSERT_TRUE(program) << program.error().message;
    EXPECT_FLOAT_EQ(program->attentionScale, 1.0f / 16.0f);
    EXPECT_FLOAT_EQ(program->embeddingScale, std::sqrt(640.0f));
    EXPECT_EQ(program->layers[11].window, 0);
    EXPECT_EQ(program->layers[12].window, 512);
}

}  // namespace
}  // namespace tokenscope
