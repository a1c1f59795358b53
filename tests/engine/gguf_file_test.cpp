#include "engine/gguf/gguf_file.h"

#include "engine/gguf/gguf_types.h"
#include "engine/gguf/split_name.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace tokenscope {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::uint32_t tag(GgufValueType type)
{
    return static_cast<std::uint32_t>(type);
}

GgufFile opened(const test::GgufWriter& writer, const fs::path& path)
{
    writer.write(path);
    return GgufFile::open(path).value();
}

TEST(GgufFile, IntegersOfAnyWidthAndSignAreRead)
{
    const test::TempFolder folder;
    test::GgufWriter writer;
    writer.setRaw("a", tag(GgufValueType::Uint8), test::rawBytes<std::uint8_t>(200));
    writer.setRaw("b", tag(GgufValueType::Int16), test::rawBytes<std::int16_t>(300));
    writer.setRaw("c", tag(GgufValueType::Int64), test::rawBytes<std::int64_t>(1'000'000'000'000));
    writer.setRaw("d", tag(GgufValueType::Int8), test::rawBytes<std::int8_t>(-3));
    writer.setUint64("e", ~std::uint64_t{0});
    const GgufFile file = opened(writer, folder.file("a.gguf"));

    EXPECT_EQ(file.unsignedValue("a").value(), 200u);
    EXPECT_EQ(file.unsignedValue("b").value(), 300u);
    EXPECT_EQ(file.unsignedValue("c").value(), 1'000'000'000'000u);
    EXPECT_EQ(file.unsignedValue("e").value(), ~std::uint64_t{0});
    EXPECT_EQ(file.numberValue("d").value(), -3.0);
    EXPECT_THAT(file.unsignedValue("d").error().message, HasSubstr("metadata key d is -3"));
    EXPECT_EQ(file.unsignedValue("absent").value(), std::nullopt);
}

TEST(GgufFile, ValueOfAnotherKindIsAnErrorWithKeyAndKind)
{
    const test::TempFolder folder;
    test::GgufWriter writer;
    writer.setString("text", "12");
    writer.setFloat("number", 0.5f);
    writer.setStrings("list", {"a", "b"});
    const GgufFile file = opened(writer, folder.file("a.gguf"));

    EXPECT_THAT(file.unsignedValue("text").error().message, HasSubstr("metadata key text is a string"));
    EXPECT_THAT(file.unsignedValue("number").error().message, HasSubstr("number with a fraction"));
    EXPECT_THAT(file.boolValue("number").error().message, HasSubstr("expected a truth value"));
    EXPECT_THAT(file.stringValue("list").error().message, HasSubstr("array of strings"));
    EXPECT_THAT(file.numberArray("list").error().message, HasSubstr("expected an array of numbers"));
    EXPECT_EQ(file.stringArray("text"), nullptr);
}

TEST(GgufFile, ArraysOfEveryKindAreRead)
{
    const test::TempFolder folder;
    test::GgufWriter writer;
    writer.setInt32s("integers", {-1, 2});
    writer.setFloats("numbers", std::vector<float>(3'000, 0.25f));
    writer.setStrings("texts", {"", "a text longer than a short string keeps inside itself", std::string(1, '\0')});
    writer.setRaw("bools", tag(GgufValueType::Array),
                  test::rawBytes(tag(GgufValueType::Bool)) + test::rawBytes<std::uint64_t>(2) +
                      std::string("\x01\x00", 2));
    writer.setRaw("none", tag(GgufValueType::Array),
                  test::rawBytes(tag(GgufValueType::Uint64)) + test::rawBytes<std::uint64_t>(0));
    const GgufFile file = opened(writer, folder.file("a.gguf"));

    EXPECT_EQ(*file.numberArray("integers").value(), (std::vector<double>{-1, 2}));
    EXPECT_EQ(file.numberArray("numbers").value()->size(), 3'000u);
    EXPECT_EQ(file.stringArray("texts")->at(2), std::string(1, '\0'));
    EXPECT_TRUE(file.numberArray("none").value()->empty());
    const auto& bools = std::get<GgufArray>(file.metadata.find("bools")->second);
    EXPECT_EQ(std::get<std::vector<bool>>(bools.values), (std::vector<bool>{true, false}));
}

TEST(GgufFile, TextLongerThanTheReadBufferIsWhole)
{
    const test::TempFolder folder;
    test::GgufWriter writer;
    std::string text;
    for (int i = 0; text.size() < 1'000'000; ++i)
        text += std::to_string(i);
    writer.setString("a", "b");
    writer.setString("long", text);
    EXPECT_EQ(opened(writer, folder.file("a.gguf")).stringValue("long").value(), text);
}

TEST(GgufFile, Version2AndAnotherAlignmentAreRead)
{
    const test::TempFolder folder;
    test::GgufWriter writer = test::makeTestModel();
    writer.version = 2;
    writer.alignment = 256;
    writer.setUint32("general.alignment", 256);
    const GgufFile file = opened(writer, folder.file("a.gguf"));
    const auto mapping = file.map().value();
    for (const GgufTensor& tensor : file.tensors) {
        EXPECT_EQ(tensor.fileOffset % 256, 0u);
        const auto bytes = mapping->tensorBytes(tensor);
        EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
                  writer.findTensor(tensor.name)->data);
    }
}

TEST(GgufFile, FileWithoutTensorsIsWellFormed)
{
    const test::TempFolder folder;
    test::GgufWriter writer;
    writer.setString("general.architecture", "clip");
    EXPECT_TRUE(opened(writer, folder.file("a.gguf")).tensors.empty());
}

TEST(GgufFile, AwkwardNamesAreOpenedAndMapped)
{
    const test::TempFolder folder;
    const std::string deep(200, 'd');
    for (const std::string& name :
         {std::string("Modèle été.gguf"), std::string("模型 🦙.gguf"), std::string("it's \"quoted\".gguf"),
          deep + "/" + deep + "/model.gguf", std::string("no extension")}) {
        const fs::path path = folder.file(name);
        fs::create_directories(path.parent_path());
        test::makeTestModel().write(path);
        const auto file = GgufFile::open(path);
        ASSERT_TRUE(file) << file.error().message;
        EXPECT_TRUE(file->map());
    }
}

TEST(GgufFile, WhatIsNoFileIsRefusedWithoutWaiting)
{
    const test::TempFolder folder;
    const fs::path pipe = folder.file("pipe.gguf");
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    for (const fs::path& path : {folder.path(), pipe, folder.file("absent.gguf"), fs::path("/dev/null"), fs::path()}) {
        const auto file = GgufFile::open(path);
        ASSERT_FALSE(file) << path;
        EXPECT_EQ(file.error().code, ErrorCode::FileAccess);
    }
    EXPECT_THAT(GgufFile::open(folder.path()).error().message, HasSubstr("is a folder"));
    EXPECT_THAT(GgufFile::open(folder.file("absent.gguf")).error().message, HasSubstr("No such file"));
}

TEST(GgufFile, FileThatShrankOrGrewOrWasWrittenToIsNotMapped)
{
    const test::TempFolder folder;
    const fs::path path = folder.file("a.gguf");
    const GgufFile file = opened(test::makeTestModel(), path);
    fs::resize_file(path, file.fileBytes - 1);
    EXPECT_EQ(file.map().error().code, ErrorCode::FileAccess);
    EXPECT_THAT(file.map().error().message, HasSubstr(std::to_string(file.fileBytes - 1)));
    fs::resize_file(path, file.fileBytes + 1);
    EXPECT_FALSE(file.map());
    fs::resize_file(path, file.fileBytes);
    fs::last_write_time(path, fs::last_write_time(path) + std::chrono::seconds(5));
    EXPECT_THAT(file.map().error().message, HasSubstr("was written to"));
    fs::remove(path);
    EXPECT_EQ(file.map().error().code, ErrorCode::FileAccess);
}

TEST(GgufFile, ShrinkingUnderTheMappingIsNoticedAndReplacingIsHarmless)
{
    const test::TempFolder folder;
    const fs::path path = folder.file("a.gguf");
    const GgufFile file = opened(test::makeTestModel(), path);
    const auto mapping = file.map().value();
    EXPECT_TRUE(mapping->checkUnchanged());
    // Another file under the same name does not touch the one that is mapped.
    std::ofstream(folder.file("other")) << "short";
    fs::copy_file(path, folder.file("b.gguf"));
    fs::rename(folder.file("other"), path);
    EXPECT_TRUE(mapping->checkUnchanged());

    const GgufFile second = GgufFile::open(folder.file("b.gguf")).value();
    const auto secondMapping = second.map().value();
    fs::resize_file(folder.file("b.gguf"), 100);
    const auto changed = secondMapping->checkUnchanged();
    ASSERT_FALSE(changed);
    EXPECT_EQ(changed.error().code, ErrorCode::FileAccess);
    EXPECT_THAT(changed.error().message, HasSubstr("to 100 bytes"));
}

TEST(GgufFile, ReadingWhatWasCutAwayGivesZerosAndAnError)
{
    const test::TempFolder folder;
    const fs::path path = folder.file("a.gguf");
    const GgufFile file = opened(test::makeTestModel(), path);
    const auto mapping = file.map().value();
    fs::resize_file(path, 100);
    const GgufTensor& last = file.tensors.back();
    ASSERT_GT(last.fileOffset, 8'192u);  // beyond the page that is still there
    for (const std::byte byte : mapping->tensorBytes(last))
        ASSERT_EQ(byte, std::byte{0});
    EXPECT_FALSE(mapping->checkUnchanged());
    // Also when it has its old length again: what was read is not what the file holds.
    fs::resize_file(path, file.fileBytes);
    const auto changed = mapping->checkUnchanged();
    ASSERT_FALSE(changed);
    EXPECT_EQ(changed.error().code, ErrorCode::FileAccess);
}

TEST(GgufFile, ManyMappingsComeAndGo)
{
    const test::TempFolder folder;
    const GgufFile file = opened(test::makeTestModel(), folder.file("a.gguf"));
    for (int i = 0; i < 3'000; ++i)
        ASSERT_TRUE(file.map());
}

class SplitModel : public testing::Test {
protected:
    test::TempFolder m_folder;
    test::GgufWriter m_whole = test::makeTestModel();
    std::vector<test::GgufWriter> m_parts = m_whole.splitInto(3);

    std::vector<fs::path> write() { return test::writeSplit(m_parts, m_folder.path(), "model"); }
    Error errorOfFirst() { return GgufFile::open(write().front()).error(); }
};

TEST_F(SplitModel, IsTheSameFromAnyOfItsParts)
{
    for (const fs::path& path : write()) {
        const auto file = GgufFile::open(path);
        ASSERT_TRUE(file) << file.error().message;
        EXPECT_EQ(file->parts.size(), 3u);
        EXPECT_EQ(file->path.filename(), "model-00001-of-00003.gguf");
        EXPECT_EQ(file->stringValue("general.architecture").value(), "llama");
        ASSERT_EQ(file->tensors.size(), m_whole.tensors.size());
        const auto mapping = file->map();
        ASSERT_TRUE(mapping) << mapping.error().message;
        for (const GgufTensor& tensor : file->tensors) {
            const auto bytes = (*mapping)->tensorBytes(tensor);
            EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
                      m_whole.findTensor(tensor.name)->data);
        }
    }
}

TEST_F(SplitModel, MissingPartIsNamed)
{
    fs::remove(write()[1]);
    const Error error = GgufFile::open(m_folder.file("model-00003-of-00003.gguf")).error();
    EXPECT_EQ(error.code, ErrorCode::FileAccess);
    EXPECT_THAT(error.message, HasSubstr("part 2 of 3"));
    EXPECT_THAT(error.message, HasSubstr("model-00002-of-00003.gguf"));
    fs::remove(m_folder.file("model-00001-of-00003.gguf"));
    EXPECT_THAT(GgufFile::open(m_folder.file("model-00003-of-00003.gguf")).error().message,
                HasSubstr("model-00001-of-00003.gguf"));
}

TEST_F(SplitModel, PartsInTheWrongOrderAreRefused)
{
    std::swap(m_parts[1], m_parts[2]);
    EXPECT_THAT(errorOfFirst().message, HasSubstr("split.no is 2 of 3, expected 1 of 3"));
    std::swap(m_parts[0], m_parts[1]);
    EXPECT_THAT(errorOfFirst().message, HasSubstr("split.no is 2, expected 0"));
}

TEST_F(SplitModel, TensorCountMustAgree)
{
    m_parts[0].setInt32("split.tensors.count", 5);
    const Error error = errorOfFirst();
    EXPECT_EQ(error.code, ErrorCode::BadFile);
    EXPECT_THAT(error.message, HasSubstr("split.tensors.count is 5"));
}

TEST_F(SplitModel, TensorInTwoPartsIsRefused)
{
    m_parts[2].tensors.front() = m_parts[0].tensors.front();
    EXPECT_THAT(errorOfFirst().message, HasSubstr("token_embd.weight appears again in part 3"));
}

TEST_F(SplitModel, CountThatContradictsTheNameIsRefused)
{
    m_parts[0].setUint32("split.count", 4);
    EXPECT_THAT(errorOfFirst().message, HasSubstr("split.count is 4, but the name says 3"));
}

TEST_F(SplitModel, DamagedPartIsNamed)
{
    m_parts[1].magic = "GGML";
    EXPECT_THAT(errorOfFirst().message, HasSubstr("model-00002-of-00003.gguf: not a GGUF file"));
}

TEST_F(SplitModel, PartThatShrankIsNoticed)
{
    const auto paths = write();
    const GgufFile file = GgufFile::open(paths[0]).value();
    fs::resize_file(paths[2], 64);
    EXPECT_THAT(file.map().error().message, HasSubstr("model-00003-of-00003.gguf"));
}

TEST(SplitName, OnlyTheExactFormIsOne)
{
    EXPECT_EQ(parseSplitName("/a/m-00002-of-00003.gguf")->number, 2u);
    EXPECT_EQ(splitPath(*parseSplitName("/a/m-00002-of-00003.gguf"), 1), "/a/m-00001-of-00003.gguf");
    for (const char* name : {"m.gguf", "m-0002-of-0003.gguf", "m-00004-of-00003.gguf", "m-00000-of-00003.gguf",
                             "m-00002-of-00003.bin", "m-0000x-of-00003.gguf", "m_00002-of-00003.gguf", ".gguf", ""})
        EXPECT_FALSE(parseSplitName(name)) << name;
}

TEST(GgufTypes, NamesForMessagesStayOnOneShortLine)
{
    EXPECT_EQ(printableName("blk.0"), "blk.0");
    EXPECT_EQ(printableName("é\n\x80"), "é\\x0A\\x80");
    EXPECT_EQ(printableName(std::string(1'000, 'x')), std::string(80, 'x') + "…");
}

}  // namespace
}  // namespace tokenscope
