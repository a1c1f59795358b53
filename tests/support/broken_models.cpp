#include "tests/support/broken_models.h"

#include "engine/gguf/gguf_types.h"
#include "tests/support/test_model.h"

#include <cmath>
#include <functional>
#include <limits>

namespace tokenscope::test {
namespace {

using kernels::DType;

constexpr std::uint64_t kHuge = std::numeric_limits<std::uint64_t>::max();

TestModelSpec smallLlama()
{
    TestModelSpec spec;
    spec.layers = 1;
    spec.embedding = 32;
    spec.heads = 2;
    spec.kvHeads = 1;
    spec.feedForward = 64;
    return spec;
}

class Collector {
public:
    void raw(const std::string& name, std::string bytes, std::vector<std::string> mentions)
    {
        m_models.push_back({name, std::move(bytes), BrokenAt::Header, ErrorCode::BadFile, std::move(mentions)});
    }

    void header(const std::string& name, std::vector<std::string> mentions,
                const std::function<void(GgufWriter&)>& damage)
    {
        damaged(name, BrokenAt::Header, ErrorCode::BadFile, std::move(mentions), damage);
    }

    void program(const std::string& name, ErrorCode code, std::vector<std::string> mentions,
                 const std::function<void(GgufWriter&)>& damage)
    {
        damaged(name, BrokenAt::Program, code, std::move(mentions), damage);
    }

    void tokenizer(const std::string& name, std::vector<std::string> mentions,
                   const std::function<void(GgufWriter&)>& damage, const TestModelSpec& spec = smallLlama())
    {
        damaged(name, BrokenAt::Tokenizer, ErrorCode::BadFile, std::move(mentions), damage, spec);
    }

    std::vector<BrokenModel> take() { return std::move(m_models); }

private:
    void damaged(const std::string& name, BrokenAt at, ErrorCode code, std::vector<std::string> mentions,
                 const std::function<void(GgufWriter&)>& damage, const TestModelSpec& spec = smallLlama())
    {
        GgufWriter writer = makeTestModel(spec);
        damage(writer);
        m_models.push_back({name, writer.bytes(), at, code, std::move(mentions)});
    }

    std::vector<BrokenModel> m_models;
};

std::uint32_t tag(GgufValueType type)
{
    return static_cast<std::uint32_t>(type);
}

std::string arrayHead(std::uint32_t elementType, std::uint64_t count)
{
    return rawBytes(elementType) + rawBytes(count);
}

void addWrongKinds(Collector& files)
{
    const std::string good = makeTestModel(smallLlama()).bytes();
    files.raw("empty", "", {"not a GGUF file", "0 bytes"});
    files.raw("three-bytes", "GGU", {"not a GGUF file", "3 bytes"});
    files.raw("header-cut", good.substr(0, 20), {"20 bytes", "24"});
    files.raw("other-magic", "RIFF" + good.substr(4), {"not a GGUF file", "RIFF"});
    files.raw("old-ggml", "tjgg" + good.substr(4), {"older than GGUF"});
    files.raw("git-lfs-pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n", {"Git LFS pointer"});
    files.raw("web-page", "<!DOCTYPE html><html><body>404</body></html>", {"web page"});
    files.raw("zip-archive", "PK\x03\x04" + good.substr(4), {"ZIP archive"});
    files.raw("safetensors", rawBytes<std::uint64_t>(100) + "{\"__metadata__\":{}}", {"safetensors"});
    files.header("version-0", {"version 0"}, [](GgufWriter& w) { w.version = 0; });
    files.header("version-1", {"version 1", "2 or 3"}, [](GgufWriter& w) { w.version = 1; });
    files.header("version-4", {"version 4", "2 or 3"}, [](GgufWriter& w) { w.version = 4; });
    files.header("big-endian", {"big-endian"}, [](GgufWriter& w) { w.version = 0x03000000; });
}

void addBadCounts(Collector& files)
{
    // count · sizeof wraps to something small (CVE-2024-23605, CVE-2024-21836)
    files.header("key-count-wraps", {"metadata keys", "2305843009213693953"},
                 [](GgufWriter& w) { w.keyCount = (std::uint64_t{1} << 61) + 1; });
    files.header("tensor-count-wraps", {"tensors", "2305843009213693953"},
                 [](GgufWriter& w) { w.tensorCount = (std::uint64_t{1} << 61) + 1; });
    files.header("key-count-beyond-file", {"60000 metadata keys"}, [](GgufWriter& w) { w.keyCount = 60'000; });
    files.header("tensor-count-beyond-file", {"200000 tensors"}, [](GgufWriter& w) { w.tensorCount = 200'000; });
    files.header("one-key-too-many", {"the name of tensor 0"}, [](GgufWriter& w) { w.keyCount = w.keys.size() + 1; });
    files.header("one-key-too-few", {"tensor"}, [](GgufWriter& w) { w.keyCount = w.keys.size() - 1; });
    // length + 1 wraps to 0 (CVE-2024-23496)
    files.header("key-length-wraps", {"metadata key 1", "18446744073709551615", "65535"},
                 [](GgufWriter& w) { w.keys[1].keyLength = kHuge; });
    files.header("key-length-beyond-file", {"metadata key 0", "65000"},
                 [](GgufWriter& w) { w.keys[0].keyLength = 65'000; });
    files.header("string-length-wraps", {"general.name", "18446744073709551615"},
                 [](GgufWriter& w) { w.findKey("general.name")->payload = rawBytes(kHuge) + "x"; });
    files.header("string-of-a-gigabyte", {"general.name", "1073741824"},
                 [](GgufWriter& w) { w.findKey("general.name")->payload = rawBytes(std::uint64_t{1} << 30) + "x"; });
    files.header("string-beyond-file", {"general.name", "100000000"},
                 [](GgufWriter& w) { w.findKey("general.name")->payload = rawBytes<std::uint64_t>(100'000'000); });
    // a token's text longer than an int32 (CVE-2025-49847)
    files.header("token-of-two-gigabytes", {"element 0 of tokenizer.ggml.tokens", "2147483649"}, [](GgufWriter& w) {
        w.setRaw("tokenizer.ggml.tokens", tag(GgufValueType::Array),
                 arrayHead(tag(GgufValueType::String), 1) + rawBytes<std::uint64_t>(2'147'483'649u));
    });
    // count · 8 wraps (CVE-2024-21825)
    files.header("array-count-wraps", {"tokenizer.ggml.scores", "2305843009213693953"}, [](GgufWriter& w) {
        w.setRaw("tokenizer.ggml.scores", tag(GgufValueType::Array),
                 arrayHead(tag(GgufValueType::Float64), (std::uint64_t{1} << 61) + 1));
    });
    files.header("array-count-beyond-file", {"tokenizer.ggml.scores", "10000000"}, [](GgufWriter& w) {
        w.setRaw("tokenizer.ggml.scores", tag(GgufValueType::Array),
                 arrayHead(tag(GgufValueType::Float32), 10'000'000));
    });
}

void addBadValues(Collector& files)
{
    files.header("key-empty", {"metadata key 1 is empty"}, [](GgufWriter& w) { w.keys[1].key = ""; });
    files.header("key-not-utf8", {"metadata key 1", "\\xFF"},
                 [](GgufWriter& w) { w.keys[1].key = "general.\xFFname"; });
    files.header("key-twice", {"general.name appears twice"}, [](GgufWriter& w) { w.keys.push_back(w.keys[1]); });
    files.header("value-type-13", {"general.name", "13", "12"},
                 [](GgufWriter& w) { w.findKey("general.name")->type = 13; });
    files.header("value-type-huge", {"general.name", "4294967295"},
                 [](GgufWriter& w) { w.findKey("general.name")->type = 0xFFFFFFFF; });
    files.header("array-of-arrays", {"general.tags", "array of arrays"}, [](GgufWriter& w) {
        w.setRaw("general.tags", tag(GgufValueType::Array),
                 arrayHead(tag(GgufValueType::Array), 1) + arrayHead(tag(GgufValueType::Uint8), 0));
    });
    files.header("array-of-unknown-type", {"general.tags", "99"},
                 [](GgufWriter& w) { w.setRaw("general.tags", tag(GgufValueType::Array), arrayHead(99, 1) + "x"); });
    files.header("truth-value-of-2", {"tokenizer.ggml.add_bos_token", "2"},
                 [](GgufWriter& w) { w.findKey("tokenizer.ggml.add_bos_token")->payload = "\x02"; });
    files.header("truth-value-of-7-in-array", {"element 1 of general.flags", "7"}, [](GgufWriter& w) {
        w.setRaw("general.flags", tag(GgufValueType::Array), arrayHead(tag(GgufValueType::Bool), 2) + "\x01\x07");
    });
    files.header("alignment-a-string", {"general.alignment", "string"},
                 [](GgufWriter& w) { w.setString("general.alignment", "32"); });
    files.header("alignment-signed", {"general.alignment", "signed integer"},
                 [](GgufWriter& w) { w.setInt32("general.alignment", 32); });
    files.header("alignment-0", {"general.alignment is 0"}, [](GgufWriter& w) { w.setUint32("general.alignment", 0); });
    files.header("alignment-48", {"general.alignment is 48", "power of two"},
                 [](GgufWriter& w) { w.setUint32("general.alignment", 48); });
    files.header("alignment-2-to-the-30", {"general.alignment is 1073741824", "65536"},
                 [](GgufWriter& w) { w.setUint32("general.alignment", 1u << 30); });
    files.header("split-number-out-of-range", {"split.no is 3", "split.count is 2"}, [](GgufWriter& w) {
        w.setUint32("split.no", 3);
        w.setUint32("split.count", 2);
    });
    files.header("split-without-its-name", {"split.count is 3", "-00001-of-00003.gguf"},
                 [](GgufWriter& w) { w.setUint32("split.count", 3); });
    files.header("split-of-too-many", {"split.count is 60000", "1000"},
                 [](GgufWriter& w) { w.setUint32("split.count", 60'000); });
    files.header("split-count-a-string", {"split.count is a string"},
                 [](GgufWriter& w) { w.setString("split.count", "2"); });
}

WrittenTensor& query(GgufWriter& writer)
{
    return *writer.findTensor("blk.0.attn_q.weight");
}

void addBadTensors(Collector& files)
{
    const std::string name = "blk.0.attn_q.weight";
    files.header("tensor-name-length-wraps", {"the name of tensor 3", "9223372036854775808"},
                 [](GgufWriter& w) { w.tensors[3].nameLength = std::uint64_t{1} << 63; });
    files.header("tensor-name-empty", {"the name of tensor 3 is empty"}, [](GgufWriter& w) { w.tensors[3].name = ""; });
    files.header("tensor-twice", {name, "twice"}, [](GgufWriter& w) { w.tensors.push_back(query(w)); });
    files.header("no-dimensions", {name, "0 dimensions"}, [](GgufWriter& w) { query(w).dimensions = {}; });
    files.header("five-dimensions", {name, "5 dimensions"},
                 [](GgufWriter& w) { query(w).dimensions = {32, 32, 1, 1, 1}; });
    files.header("dimension-count-huge", {name, "4294967295 dimensions"},
                 [](GgufWriter& w) { query(w).dimensionCount = 0xFFFFFFFF; });
    files.header("dimension-0", {"dimension 1 of tensor " + name, "is 0"},
                 [](GgufWriter& w) { query(w).dimensions = {32, 0}; });
    files.header("dimension-negative", {"dimension 0 of tensor " + name, "18446744073709551584"},
                 [](GgufWriter& w) { query(w).dimensions = {static_cast<std::uint64_t>(-32), 32}; });
    // the product wraps (CVE-2024-21802, P1)
    files.header("dimensions-wrap", {name, "9223372036854775807"},
                 [](GgufWriter& w) { query(w).dimensions = {std::uint64_t{1} << 32, std::uint64_t{1} << 32, 1}; });
    files.header("dimensions-wrap-at-the-third", {name, "dimension 2 is 4611686018427387904"},
                 [](GgufWriter& w) { query(w).dimensions = {32, 32, std::uint64_t{1} << 62}; });
    // elements fit, bytes wrap (CVE-2026-33298)
    files.header("tensor-bytes-wrap", {name, "2305843009213693952"}, [](GgufWriter& w) {
        query(w).typeId = 28;  // F64, 8 bytes each
        query(w).dimensions = {std::uint64_t{1} << 61};
    });
    // end of the data section wraps (CVE-2025-53630, CVE-2026-27940)
    files.header("tensor-end-wraps", {name, "2^64"}, [](GgufWriter& w) {
        query(w).typeId = 24;  // I8
        query(w).dimensions = {(std::uint64_t{1} << 63) - 64};
        query(w).offset = (std::uint64_t{1} << 63) + 64;
    });
    files.header("tensor-of-an-exabyte", {name, "bytes are missing"},
                 [](GgufWriter& w) { query(w).dimensions = {std::uint64_t{1} << 55, 32}; });
    files.header("tensor-larger-than-its-data", {"blk.0.ffn_down.weight", "bytes are missing"},
                 [](GgufWriter& w) { w.findTensor("blk.0.ffn_down.weight")->dimensions[1] = 4'096; });
    files.header("row-not-of-whole-blocks", {name, "33", "multiple of 32"},
                 [](GgufWriter& w) { query(w).dimensions = {33, 32}; });
    files.header("offset-unaligned", {name, "offset", "alignment 32"}, [](GgufWriter& w) { query(w).offset = 17; });
    files.header("offset-wraps", {name, "2^64"}, [](GgufWriter& w) { query(w).offset = kHuge - 31; });
    files.header("offset-beyond-file", {name, "bytes are missing"},
                 [](GgufWriter& w) { query(w).offset = std::uint64_t{1} << 40; });
    files.header("tensors-overlap", {"inside tensor"}, [](GgufWriter& w) { query(w).offset = 32; });
    std::string cut = makeTestModel(smallLlama()).bytes();
    cut.resize(cut.size() - 100);
    files.raw("data-cut", cut, {"100 bytes are missing"});
    cut.resize(1'000);
    files.raw("metadata-cut", cut, {"truncated"});
    cut.resize(24);
    files.raw("only-a-header", cut, {"metadata keys", "0 left"});
}

void addBadModels(Collector& files)
{
    const auto bad = ErrorCode::BadFile;
    const auto unsupported = ErrorCode::UnsupportedModel;
    files.program("no-architecture", unsupported, {"general.architecture", "llama, gemma3"},
                  [](GgufWriter& w) { w.remove("general.architecture"); });
    files.program("unknown-architecture", unsupported, {"\"stable-diffusion\"", "llama, gemma3"},
                  [](GgufWriter& w) { w.setString("general.architecture", "stable-diffusion"); });
    files.program("architecture-a-number", bad, {"general.architecture", "unsigned integer"},
                  [](GgufWriter& w) { w.setUint32("general.architecture", 7); });
    files.program("no-layer-count", bad, {"llama.block_count is missing"},
                  [](GgufWriter& w) { w.remove("llama.block_count"); });
    files.program("layer-count-a-string", bad, {"llama.block_count", "string"},
                  [](GgufWriter& w) { w.setString("llama.block_count", "1"); });
    files.program("layer-count-negative", bad, {"llama.block_count is -1"},
                  [](GgufWriter& w) { w.setInt32("llama.block_count", -1); });
    files.program("layers-4000", bad, {"llama.block_count is 4000", "512"},
                  [](GgufWriter& w) { w.setUint32("llama.block_count", 4'000); });
    files.program("layers-more-than-tensors", unsupported, {"blk.1.attn_norm.weight is missing"},
                  [](GgufWriter& w) { w.setUint32("llama.block_count", 2); });
    files.program("heads-0", bad, {"llama.attention.head_count is 0"},
                  [](GgufWriter& w) { w.setUint32("llama.attention.head_count", 0); });
    files.program("kv-heads-no-divisor", bad, {"llama.attention.head_count_kv is 3", "2 heads"},
                  [](GgufWriter& w) { w.setUint32("llama.attention.head_count_kv", 3); });
    files.program("embedding-of-2-to-the-32", bad, {"llama.embedding_length is 4294967296", "65536"},
                  [](GgufWriter& w) { w.setUint64("llama.embedding_length", std::uint64_t{1} << 32); });
    files.program("epsilon-not-a-number", bad, {"llama.attention.layer_norm_rms_epsilon is nan"},
                  [](GgufWriter& w) { w.setFloat("llama.attention.layer_norm_rms_epsilon", NAN); });
    files.program("rope-dimensions-odd", bad, {"llama.rope.dimension_count is 7", "16"},
                  [](GgufWriter& w) { w.setUint32("llama.rope.dimension_count", 7); });
    files.program("rope-base-negative", bad, {"llama.rope.freq_base is -10000"},
                  [](GgufWriter& w) { w.setFloat("llama.rope.freq_base", -10'000.0f); });
    files.program("rope-yarn", unsupported, {"llama.rope.scaling.type", "yarn"},
                  [](GgufWriter& w) { w.setString("llama.rope.scaling.type", "yarn"); });
    files.program("experts", unsupported, {"llama.expert_count is 8"},
                  [](GgufWriter& w) { w.setUint32("llama.expert_count", 8); });
    files.program("tensor-missing", unsupported, {"blk.0.ffn_norm.weight is missing"},
                  [](GgufWriter& w) { w.removeTensor("blk.0.ffn_norm.weight"); });
    files.program("tensor-without-a-place", unsupported, {"blk.0.ssm_in.weight"}, [](GgufWriter& w) {
        WrittenTensor stranger = query(w);
        stranger.name = "blk.0.ssm_in.weight";
        w.tensors.push_back(stranger);
    });
    files.program("tensor-shape-contradicts", bad, {"token_embd.weight is 32 × 276", "32 × 277"},
                  [](GgufWriter& w) { w.findTensor("token_embd.weight")->dimensions[1] = 276; });
    files.program("tensor-transposed", bad, {"blk.0.ffn_gate.weight is 64 × 32", "32 × 64"},
                  [](GgufWriter& w) { w.findTensor("blk.0.ffn_gate.weight")->dimensions = {64, 32}; });
    files.program("tensor-type-1000", unsupported, {"blk.0.attn_q.weight", "type 1000"},
                  [](GgufWriter& w) { query(w).typeId = 1'000; });
    files.program("norm-of-half-precision", unsupported, {"blk.0.attn_norm.weight", "F16"}, [](GgufWriter& w) {
        w.findTensor("blk.0.attn_norm.weight")->typeId = static_cast<std::uint32_t>(DType::F16);
    });
}

void addBadVocabularies(Collector& files)
{
    TestModelSpec sentencePiece = smallLlama();
    sentencePiece.vocabulary = TestVocabulary::SentencePiece;
    files.tokenizer("types-shorter-than-tokens", {"tokenizer.ggml.token_type", "3"},
                    [](GgufWriter& w) { w.setInt32s("tokenizer.ggml.token_type", {1, 1, 1}); });
    files.tokenizer(
        "scores-shorter-than-tokens", {"tokenizer.ggml.scores", "2"},
        [](GgufWriter& w) { w.setFloats("tokenizer.ggml.scores", {0.0f, 1.0f}); }, sentencePiece);
    // a number read with a sign becomes an index below 0 (llama.cpp #27226)
    files.tokenizer(
        "byte-token-negative", {"<0x-1>"},
        [](GgufWriter& w) {
            std::string& tokens = w.findKey("tokenizer.ggml.tokens")->payload;
            tokens.replace(tokens.find("<0x41>"), 6, "<0x-1>");
        },
        sentencePiece);
    files.tokenizer("eos-beyond-vocabulary", {"tokenizer.ggml.eos_token_id", "277"},
                    [](GgufWriter& w) { w.setUint32("tokenizer.ggml.eos_token_id", 277); });
    files.tokenizer("bos-huge", {"tokenizer.ggml.bos_token_id", "4294967295"},
                    [](GgufWriter& w) { w.setUint32("tokenizer.ggml.bos_token_id", 0xFFFFFFFF); });
}

}  // namespace

std::vector<BrokenModel> brokenModels()
{
    Collector files;
    addWrongKinds(files);
    addBadCounts(files);
    addBadValues(files);
    addBadTensors(files);
    addBadModels(files);
    addBadVocabularies(files);
    return files.take();
}

std::vector<GoodModel> goodModels()
{
    std::vector<GoodModel> models;
    models.push_back({"llama-q8_0", makeTestModel(smallLlama())});
    TestModelSpec kQuants;
    kQuants.embedding = 256;
    kQuants.heads = 4;
    kQuants.headDim = 64;
    kQuants.feedForward = 512;
    kQuants.tiedHead = false;
    kQuants.type = DType::Q4_K;
    kQuants.embeddingType = DType::Q6_K;
    kQuants.chatTemplate = kChatMlTemplate;
    models.push_back({"llama-q4_k-chat", makeTestModel(kQuants)});
    models.push_back({"gemma3-q8_0", makeTestModel(smallGemma3())});
    GgufWriter version2 = makeTestModel(smallLlama());
    version2.version = 2;
    models.push_back({"llama-version-2", std::move(version2)});
    return models;
}

}  // namespace tokenscope::test
