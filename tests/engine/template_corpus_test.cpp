// Every template of tests/data/templates against what the real Jinja2 made of it (templates.json, written by
// tests/support/make_template_expectations.py), and the published model's own template against chat.json.
#include "engine/gguf/gguf_file.h"
#include "engine/template/chat_template.h"
#include "tests/support/test_data.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <ctime>
#include <set>

namespace tokenscope {
namespace {

std::vector<ChatMessage> messagesOf(const nlohmann::json& list)
{
    std::vector<ChatMessage> messages;
    for (const auto& entry : list)
        messages.push_back({entry["role"], entry["content"]});
    return messages;
}

TEST(TemplateCorpus, AgreesWithJinja)
{
    setenv("TZ", "UTC", 1);  // strftime_now gives local time
    tzset();
    const auto document = nlohmann::json::parse(test::readFile(test::dataPath("templates.json")));
    ASSERT_GE(document["templates"].size(), 40u);
    int texts = 0;
    int failures = 0;
    for (const auto& entry : document["templates"]) {
        const std::string name = entry["name"];
        const auto parsed = ChatTemplate::parse(test::readFile(test::dataPath("templates/" + name)));
        for (const auto& expected : entry["results"]) {
            const std::string where = name + " with " + expected["conversation"].get<std::string>();
            const auto messages = messagesOf(document["conversations"][expected["conversation"].get<std::string>()]);
            Result<std::string> text = fail(ErrorCode::Internal, "");
            if (!parsed) {
                text = tl::unexpected(parsed.error());
            } else {
                const auto segments = (*parsed)->render(
                    {messages, expected["add_generation_prompt"], "<s>", "</s>", document["now"].get<std::int64_t>()});
                if (segments)
                    text = joinSegments(*segments);
                else
                    text = tl::unexpected(segments.error());
            }
            if (expected.contains("text")) {
                ++texts;
                ASSERT_TRUE(text) << where << ": " << text.error().message;
                EXPECT_EQ(*text, expected["text"].get<std::string>()) << where;
                continue;
            }
            ++failures;
            ASSERT_FALSE(text) << where << " gives: " << *text;
            EXPECT_EQ(text.error().code, ErrorCode::TemplateFailed);
            ASSERT_GE(text.error().args.size(), 2u);
            if (expected.contains("raised")) {
                EXPECT_EQ(text.error().args[1], expected["raised"].get<std::string>()) << where;
            }
        }
    }
    EXPECT_GT(texts, 150);
    EXPECT_GT(failures, 100);
}

TEST(TemplateCorpus, EveryFileHasItsExpectations)
{
    const auto document = nlohmann::json::parse(test::readFile(test::dataPath("templates.json")));
    std::set<std::string> expected;
    for (const auto& entry : document["templates"])
        expected.insert(entry["name"].get<std::string>());
    std::set<std::string> present;
    for (const auto& file : std::filesystem::directory_iterator(test::dataPath("templates")))
        present.insert(file.path().filename().string());
    EXPECT_EQ(present, expected);
}

TEST(TemplateCorpus, Smollm2sOwnTemplateGivesTheReferenceTexts)
{
    const auto path = test::smollm2();
    if (!path)
        GTEST_SKIP() << test::kNoModel;
    const auto file = GgufFile::open(*path);
    ASSERT_TRUE(file) << file.error().message;
    const auto source = file->stringValue("tokenizer.chat_template");
    ASSERT_TRUE(source && *source);
    const auto parsed = ChatTemplate::parse(**source);
    ASSERT_TRUE(parsed) << parsed.error().message;
    const auto entries = nlohmann::json::parse(test::readFile(test::dataPath("chat.json")));
    ASSERT_GE(entries.size(), 12u);
    for (const auto& entry : entries) {
        const auto messages = messagesOf(entry["messages"]);
        const auto segments =
            (*parsed)->render({messages, entry["add_generation_prompt"], "<|im_start|>", "<|im_end|>"});
        ASSERT_TRUE(segments) << segments.error().message;
        EXPECT_EQ(joinSegments(*segments), entry["text"].get<std::string>());
    }
}

}  // namespace
}  // namespace tokenscope
