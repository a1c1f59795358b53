#include "engine/request_intake.h"

#include "engine/template/chat_template.h"
#include "tests/support/fake_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tokenscope {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

ModelText fakeText(bool addsBos, const std::string& source = "")
{
    ModelText text;
    text.tokenizer = test::makeFakeTokenizer(addsBos);
    if (!source.empty())
        text.chatTemplate = ChatTemplate::parse(source).value();
    return text;
}

std::vector<TokenId> ids(std::initializer_list<TokenId> begin, std::string_view rest)
{
    std::vector<TokenId> all(begin);
    for (char c : rest)
        all.push_back(static_cast<unsigned char>(c));
    return all;
}

RequestSpec specOf(decltype(RequestSpec::prompt) prompt)
{
    RequestSpec spec;
    spec.prompt = std::move(prompt);
    return spec;
}

constexpr const char* kTemplate =
    "{% for m in messages %}<|mark|>{{ m.content }}{% endfor %}{% if add_generation_prompt "
    "%}<|mark|>A{% endif %}";

TEST(RequestIntake, ATextPromptBeginsWithBosWhereTheFileAsksForIt)
{
    EXPECT_EQ(preparePrompt(specOf(TextPrompt{"hi"}), fakeText(true))->ids, ids({test::kFakeBos}, "hi"));
    EXPECT_EQ(preparePrompt(specOf(TextPrompt{"hi"}), fakeText(false))->ids, ids({}, "hi"));
    EXPECT_EQ(preparePrompt(specOf(TextPrompt{""}), fakeText(true))->ids, ids({test::kFakeBos}, ""));
}

TEST(RequestIntake, ADoubleBosIsGivenOnceWithAWarning)
{
    const auto prompt = preparePrompt(specOf(ChatPrompt{{{"user", "hi"}}}), fakeText(true, "{{ bos_token }}{{ "
                                                                                           "messages[0].content }}"));
    EXPECT_EQ(prompt->ids, ids({test::kFakeBos}, "hi"));
    EXPECT_THAT(prompt->warnings, Contains(HasSubstr("once")));
    EXPECT_EQ(preparePrompt(specOf(ChatPrompt{{{"user", "hi"}}}), fakeText(true, kTemplate))->ids.front(),
              test::kFakeBos);
}

TEST(RequestIntake, TextOfSpecialTokensInAMessageStaysText)
{
    const auto prompt = preparePrompt(specOf(ChatPrompt{{{"user", "<|mark|>"}}}), fakeText(false, kTemplate));
    std::vector<TokenId> expected = ids({test::kFakeMark}, "<|mark|>");
    expected.push_back(test::kFakeMark);
    expected.push_back('A');
    EXPECT_EQ(prompt->ids, expected);
    EXPECT_EQ(preparePrompt(specOf(TextPrompt{"<|mark|>"}), fakeText(false))->ids, ids({}, "<|mark|>"));
    EXPECT_EQ(preparePrompt(specOf(TextPrompt{"<|mark|>", true}), fakeText(false))->ids, ids({test::kFakeMark}, ""));
}

TEST(RequestIntake, AnAnswerIsContinuedWhereItEnds)
{
    const auto prompt =
        preparePrompt(specOf(ChatPrompt{{{"user", "x"}, {"assistant", "<|mark|>"}}, true}), fakeText(false, kTemplate));
    std::vector<TokenId> expected = ids({test::kFakeMark}, "x");
    expected.push_back(test::kFakeMark);
    for (TokenId id : ids({}, "A<|mark|>"))
        expected.push_back(id);
    EXPECT_EQ(prompt->ids, expected);
}

TEST(RequestIntake, WithoutATemplateMessagesArePlainTextAndAWarningSaysSo)
{
    const auto prompt =
        preparePrompt(specOf(ChatPrompt{{{"user", "one"}, {"assistant", "two"}, {"user", "three"}}}), fakeText(true));
    EXPECT_EQ(prompt->ids, ids({test::kFakeBos}, "one\ntwo\nthree"));
    EXPECT_THAT(prompt->warnings, Contains(HasSubstr("plain text")));
}

TEST(RequestIntake, ATemplateThatFailsNamesTheReasonAndTheWayOut)
{
    ModelText text = fakeText(false);
    text.templateError = "line 3: unknown filter";
    const auto prompt = preparePrompt(specOf(ChatPrompt{{{"user", "hi"}}}), text);
    EXPECT_EQ(prompt.error().code, ErrorCode::TemplateFailed);
    EXPECT_THAT(prompt.error().message, HasSubstr("line 3"));
    EXPECT_THAT(prompt.error().message, HasSubstr("--template raw"));
    EXPECT_TRUE(preparePrompt(specOf(TextPrompt{"hi"}), text).has_value());

    const auto raised =
        preparePrompt(specOf(ChatPrompt{{{"user", "hi"}}}), fakeText(false, "{{ raise_exception('no users') }}"));
    EXPECT_EQ(raised.error().code, ErrorCode::TemplateFailed);
    EXPECT_THAT(raised.error().message, HasSubstr("no users"));
}

TEST(RequestIntake, DroppedBytesAreCountedAndTold)
{
    const auto prompt = preparePrompt(specOf(TextPrompt{std::string("a\0b", 3)}), fakeText(false));
    EXPECT_EQ(prompt->ids, ids({}, "ab"));
    EXPECT_EQ(prompt->droppedBytes, 1);
    EXPECT_THAT(prompt->warnings, Contains(HasSubstr("1 bytes")));
}

TEST(RequestIntake, IdsAreTakenAsTheyAre)
{
    EXPECT_EQ(preparePrompt(specOf(IdsPrompt{{5, test::kFakeBos}}), fakeText(true))->ids, ids({5, test::kFakeBos}, ""));
}

}  // namespace
}  // namespace tokenscope
