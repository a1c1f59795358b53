// Every malformed file is answered with a sentence that names the key or tensor and a number, and no file, however
// damaged, makes the program crash or take memory that its size does not justify.
#include "engine/gguf/gguf_file.h"
#include "engine/gguf/utf8.h"
#include "engine/model/model.h"
#include "engine/tokenizer/tokenizer.h"
#include "tests/support/allocation_meter.h"
#include "tests/support/broken_models.h"
#include "tests/support/random_weights.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>

namespace tokenscope {
namespace {

using testing::HasSubstr;

// A new file each time: some file systems write out a file that is cut to nothing and filled again.
void writeBytes(const std::filesystem::path& path, const std::string& bytes)
{
    std::filesystem::remove(path);
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

void expectSentence(const Error& error)
{
    EXPECT_FALSE(error.message.empty());
    EXPECT_LT(error.message.size(), 700u) << error.message;
    EXPECT_TRUE(isWellFormedUtf8(error.message)) << error.message;
    EXPECT_TRUE(std::none_of(error.message.begin(), error.message.end(), [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
    })) << error.message;
}

// What a load does up to the first arithmetic: every tensor's first and last byte read, a text tokenised.
Result<void> openAndBuild(const std::filesystem::path& path)
{
    const auto file = GgufFile::open(path);
    if (!file)
        return tl::unexpected(file.error());
    const ModelInfo info = describeModel(*file);
    const auto mapping = file->map();
    if (!mapping)
        return tl::unexpected(mapping.error());
    volatile unsigned sum = 0;  // so that the bytes are really read
    for (const GgufTensor& tensor : file->tensors)
        if (const auto bytes = (*mapping)->tensorBytes(tensor); !bytes.empty())
            sum = sum + std::to_integer<unsigned>(bytes.front()) + std::to_integer<unsigned>(bytes.back());
    const auto program = buildLayerProgram(*file, **mapping);
    // Without the tensors' contents everything but the divisors of RoPE is known.
    if (!info.runnable) {
        EXPECT_FALSE(program) << info.whyNotRunnable;
    }
    if (!program)
        return tl::unexpected(program.error());
    const auto tokenizer = Tokenizer::create(*file, "");
    if (!tokenizer)
        return tl::unexpected(tokenizer.error());
    const EncodedText text = (*tokenizer)->encode("hello, the world and 中", true);
    for (const TokenId id : text.ids)
        EXPECT_TRUE(id >= 0 && id < (*tokenizer)->vocabularySize());
    return {};
}

TEST(BrokenFiles, EachIsAnsweredWithASentenceThatNamesWhatIsWrong)
{
    const test::TempFolder folder;
    int refused = 0;
    for (const test::BrokenModel& broken : test::brokenModels()) {
        SCOPED_TRACE(broken.name);
        const auto path = folder.file(broken.name + ".gguf");
        writeBytes(path, broken.bytes);
        const std::uint64_t heapBefore = test::requestedHeapBytes();
        const auto opened = GgufFile::open(path);
        EXPECT_LT(test::requestedHeapBytes() - heapBefore, 64u << 20);
        EXPECT_EQ(opened.has_value(), broken.at != test::BrokenAt::Header)
            << (opened ? "it was opened" : opened.error().message);
        const Result<void> answer = openAndBuild(path);
        ASSERT_FALSE(answer);
        EXPECT_EQ(answer.error().code, broken.code) << answer.error().message;
        EXPECT_THAT(answer.error().message, HasSubstr(broken.name + ".gguf: "));
        EXPECT_FALSE(answer.error().args.empty()) << answer.error().message;
        for (const std::string& arg : answer.error().args)
            EXPECT_THAT(answer.error().message, HasSubstr(arg));
        for (const std::string& mention : broken.mentions)
            EXPECT_THAT(answer.error().message, HasSubstr(mention));
        expectSentence(answer.error());
        ++refused;
    }
    EXPECT_GE(refused, 40);
}

TEST(BrokenFiles, AGoodFileIsReadAfterEachOfThem)
{
    const test::TempFolder folder;
    const auto good = folder.file("good.gguf");
    test::makeTestModel().write(good);
    for (const test::BrokenModel& broken : test::brokenModels()) {
        writeBytes(folder.file("bad.gguf"), broken.bytes);
        (void)openAndBuild(folder.file("bad.gguf"));
        const auto answer = openAndBuild(good);
        EXPECT_TRUE(answer) << "after " << broken.name << ": " << answer.error().message;
    }
}

TEST(BrokenFiles, TheirNamesAreDifferent)
{
    std::set<std::string> names;
    for (const test::BrokenModel& broken : test::brokenModels())
        EXPECT_TRUE(names.insert(broken.name).second) << broken.name;
}

TEST(BrokenFiles, TheGoodOnesCanBeRun)
{
    const test::TempFolder folder;
    for (const test::GoodModel& good : test::goodModels()) {
        good.writer.write(folder.file(good.name));
        const auto answer = openAndBuild(folder.file(good.name));
        EXPECT_TRUE(answer) << good.name << ": " << answer.error().message;
    }
}

// Cut anywhere in the header a file is refused, and every cut is noticed: none is half a model.
TEST(BrokenFiles, EveryCutIsNoticed)
{
    const test::TempFolder folder;
    const std::string bytes = test::goodModels().front().writer.bytes();
    for (std::size_t kept = 0; kept < bytes.size(); kept += 1 + kept / 40) {
        writeBytes(folder.file("cut.gguf"), bytes.substr(0, kept));
        const auto file = GgufFile::open(folder.file("cut.gguf"));
        ASSERT_FALSE(file) << kept;
        EXPECT_EQ(file.error().code, ErrorCode::BadFile);
        expectSentence(file.error());
    }
}

// One to four changes at random places: bits, numbers that are hard on arithmetic, cuts, repeated and lost stretches.
std::string damaged(std::string bytes, test::RandomBits& random)
{
    static constexpr std::uint64_t kHardNumbers[] = {0,          1,          5,          31,         0x7F,
                                                     0x80,       0xFF,       0xFFFF,     0x7FFFFFFF, 0x80000000,
                                                     0xFFFFFFFF, 1ull << 32, 1ull << 61, 1ull << 62, (1ull << 63) - 1,
                                                     1ull << 63, ~0ull - 31, ~0ull - 7,  ~0ull};
    const std::uint64_t changes = 1 + random.below(4);
    for (std::uint64_t change = 0; change < changes && bytes.size() > 64; ++change) {
        // The header is the smaller part of the file, but where the danger is.
        const std::size_t at = random.below(4) == 0 ? random.below(bytes.size()) : random.below(bytes.size() / 3);
        switch (random.below(6)) {
        case 0:
            bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8)));
            break;
        case 1:
            bytes[at] = static_cast<char>(random.next());
            break;
        case 2:
        case 3: {
            const std::uint64_t number = kHardNumbers[random.below(std::size(kHardNumbers))];
            const std::size_t width = random.below(2) == 0 ? 4 : 8;
            bytes.replace(std::min(at, bytes.size() - width), width, test::rawBytes(number).substr(0, width));
            break;
        }
        case 4:
            bytes.erase(at, 1 + random.below(64));
            break;
        default:
            bytes.insert(at, bytes.substr(random.below(bytes.size()), 1 + random.below(64)));
            break;
        }
    }
    return bytes;
}

TEST(BrokenFiles, ThreeThousandRandomlyDamagedFilesNeitherCrashNorTakeMemory)
{
    const test::TempFolder folder;
    const auto path = folder.file("damaged.gguf");
    std::vector<std::string> originals;
    for (const test::GoodModel& good : test::goodModels())
        originals.push_back(good.writer.bytes());
    test::RandomBits random(20'240'229);
    int refused = 0;
    constexpr int kFiles = 3'000;
    for (int i = 0; i < kFiles; ++i) {
        // The first and the last are the smallest; they take turns so that writing stays quick.
        const std::string bytes = damaged(originals[i % 2 == 0 ? 0 : originals.size() - 1], random);
        writeBytes(path, bytes);
        const std::uint64_t heapBefore = test::requestedHeapBytes();
        const Result<void> answer = openAndBuild(path);
        ASSERT_LT(test::requestedHeapBytes() - heapBefore, 64u << 20) << "file " << i;
        if (!answer) {
            ++refused;
            expectSentence(answer.error());
        }
    }
    // Damage to weights, names and texts goes unnoticed here, as it must.
    EXPECT_GT(refused, kFiles / 2);
}

}  // namespace
}  // namespace tokenscope
