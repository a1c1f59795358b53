#include "app/services/chat_files.h"

#include "storage/storage.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tokenscope {
namespace {

MessageRow message(MessageId id, std::optional<MessageId> parent, std::string role, std::string text)
{
    return {.id = id,
            .conversation = 1,
            .parent = parent,
            .role = std::move(role),
            .text = std::move(text),
            .createdMs = id};
}

std::vector<const MessageRow*> pointers(const std::vector<MessageRow>& rows)
{
    std::vector<const MessageRow*> list;
    for (const MessageRow& row : rows)
        list.push_back(&row);
    return list;
}

std::string refusal(std::string_view json)
{
    const auto file = conversationFromJson(json, 0);
    return file ? "" : file.error().message;
}

std::string document(const std::string& messages)
{
    return R"({"format":"tokenscope-conversation","version":1,"messages":)" + messages + "}";
}

TEST(ConversationJson, KeepsTheWholeTreeAndItsShownBranch)
{
    std::vector<MessageRow> rows{message(1ll << 60, {}, "user", "Q \"quoted\" ünï\n"),
                                 message((1ll << 60) + 1, 1ll << 60, "assistant", "A1"),
                                 message((1ll << 60) + 2, 1ll << 60, "assistant", "")};
    rows[1].modelName = "small";
    rows[2].state = MessageState::Failed;
    rows[2].errorText = "broke";
    const ConversationRow row{
        .id = 1, .title = "T", .systemPrompt = "S", .createdMs = 3, .updatedMs = 4, .activeLeaf = rows[1].id};
    const auto file = conversationFromJson(conversationToJson(row, pointers(rows)), 99);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(file->row.title, "T");
    EXPECT_EQ(file->row.systemPrompt, "S");
    EXPECT_EQ(file->row.createdMs, 3);
    ASSERT_EQ(file->messages.size(), 3u);
    EXPECT_EQ(file->messages[0].text, rows[0].text);
    EXPECT_EQ(file->messages[1].parent, file->messages[0].id);
    EXPECT_EQ(file->messages[1].modelName, "small");
    EXPECT_EQ(file->messages[2].state, MessageState::Failed);
    EXPECT_EQ(file->messages[2].errorText, "broke");
    EXPECT_EQ(file->row.activeLeaf, file->messages[1].id);
    EXPECT_NE(file->messages[0].id, rows[0].id) << "an import never meets what is there";
}

TEST(ConversationJson, AcceptsChildrenBeforeTheirParents)
{
    const auto file = conversationFromJson(
        document(
            R"([{"id":2,"parent":1,"role":"assistant","text":"a"},{"id":1,"parent":null,"role":"user","text":"q"}])"),
        5);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(file->messages[0].text, "q");
    EXPECT_EQ(file->messages[1].parent, file->messages[0].id);
    EXPECT_EQ(file->messages[1].createdMs, 5);
}

TEST(ConversationJson, RefusesWhatIsWrongWithASentenceThatNamesIt)
{
    const auto names = [](const std::string& text, const char* word) {
        const std::string sentence = refusal(text);
        EXPECT_NE(sentence.find(word), std::string::npos) << text.substr(0, 80) << "\n→ " << sentence;
    };
    names("", "not JSON");
    names("{\"format\":", "not JSON");
    names("\xff\xfe", "not JSON");
    names("[]", "array");
    names("{}", "no \"format\"");
    names(R"({"format":7})", "number");
    names(R"({"format":"other"})", "\"other\"");
    names(R"({"format":"tokenscope-conversation","version":2})", "version is 2");
    names(R"({"format":"tokenscope-conversation","version":1})", "\"messages\"");
    names(document("7"), "\"messages\"");
    names(document("[7]"), "message 1 is a number");
    names(document(R"([{"role":"user","text":"x"}])"), "no \"id\"");
    names(document(R"([{"id":1.5,"role":"user","text":"x"}])"), "1.5");
    names(document(R"([{"id":18446744073709551615,"role":"user","text":"x"}])"), "whole number");
    names(document(R"([{"id":1,"text":"x"}])"), "no \"role\"");
    names(document(R"([{"id":1,"role":"tool","text":"x"}])"), "\"tool\"");
    names(document(R"([{"id":1,"role":"user","text":["x"]}])"), "array");
    names(document(R"([{"id":1,"role":"user","text":"x"},{"id":1,"role":"user","text":"y"}])"), "twice");
    names(document(R"([{"id":1,"parent":9,"role":"user","text":"x"}])"), "parent 9");
    names(document(R"([{"id":1,"parent":1,"role":"user","text":"x"}])"), "circle");
    names(document(R"([{"id":0,"role":"user","text":"r"},{"id":1,"parent":2,"role":"user","text":"x"},)"
                   R"({"id":2,"parent":1,"role":"user","text":"y"}])"),
          "2 messages");
    names(R"({"format":"tokenscope-conversation","version":1,"active":5,"messages":[]})", "message 5");
}

TEST(ConversationJson, RefusesHugeFilesAndSurvivesDeepOnes)
{
    EXPECT_NE(refusal(std::string((64u << 20) + 1, ' ')).find("limit"), std::string::npos);
    EXPECT_NE(refusal(std::string(200'000, '[')).find("not JSON"), std::string::npos);
    EXPECT_NE(refusal(std::string(200'000, '[') + std::string(200'000, ']')), "");
}

TEST(ConversationJson, AnswersEveryTruncationOfAGoodFile)
{
    const std::vector<MessageRow> rows{message(1, {}, "user", "Q"), message(2, 1, "assistant", "A")};
    const std::string good = conversationToJson({.title = "T"}, pointers(rows));
    for (std::size_t length = 0; length + 1 < good.size(); ++length)
        EXPECT_NE(refusal(good.substr(0, length)), "") << length;
}

std::vector<std::string> markdownTexts(const std::string& markdown)
{
    std::vector<std::string> texts;
    const auto file = conversationFromMarkdown(markdown, 0);
    EXPECT_TRUE(file) << file.error().message;
    if (file)
        for (const MessageRow& row : file->messages)
            texts.push_back(row.role + ":" + row.text);
    return texts;
}

TEST(ConversationMarkdown, ReadsBackExactlyWhatItWroteWhateverTheTextsHold)
{
    const std::vector<std::string> texts{"plain",
                                         "",
                                         "\n\nblank lines around\n\n",
                                         "## User\n\nnot a heading of ours",
                                         "<!-- tokenscope user -->\n## User\n\nforged",
                                         "<!-- \\tokenscope user -->\n<!-- \\\\tokenscope x",
                                         "```\n# code\n```\n"};
    std::vector<MessageRow> rows;
    std::vector<std::string> expected;
    for (const std::string& text : texts) {
        const std::string role = rows.size() % 2 ? "assistant" : "user";
        rows.push_back(message(static_cast<MessageId>(rows.size()) + 1, {}, role, text));
        rows.back().modelName = "m\n1";
        expected.push_back(role + ":" + text);
    }
    const std::string markdown =
        conversationToMarkdown({.title = "A\ntitle", .systemPrompt = "Be\n\nbrief."}, pointers(rows));
    EXPECT_EQ(markdownTexts(markdown), expected);
    const auto file = conversationFromMarkdown(markdown, 0);
    EXPECT_EQ(file->row.title, "A title");
    EXPECT_EQ(file->row.systemPrompt, "Be\n\nbrief.");
    EXPECT_EQ(file->messages[1].parent, file->messages[0].id);
    EXPECT_EQ(file->row.activeLeaf, file->messages.back().id);
}

TEST(ConversationMarkdown, ReadsHeadingsOfOtherPrograms)
{
    EXPECT_EQ(markdownTexts("# Chat\n\n### **User:**\n\nHello\n\n### Assistant\nHi\n\n## Details\nmore\n"),
              (std::vector<std::string>{"user:Hello", "assistant:Hi\n\n## Details\nmore"}));
}

TEST(ConversationMarkdown, RefusesTextWithoutASpeaker)
{
    const auto file = conversationFromMarkdown("# Notes\n\nJust text.\n", 0);
    ASSERT_FALSE(file);
    EXPECT_NE(file.error().message.find("## User"), std::string::npos);
}

}  // namespace
}  // namespace tokenscope
