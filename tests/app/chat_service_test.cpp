#include "app/services/chat_service.h"

#include "tests/support/fake_engine.h"
#include "tests/support/temp_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>

namespace tokenscope {
namespace {

using test::finishedEvent;
using test::tokenEvent;

class ChatServiceTest : public testing::Test {
protected:
    ChatServiceTest() { reopen(); }

    // As after a start of the program.
    void reopen()
    {
        chat.reset();
        storage.reset();
        storage = Storage::open(folder.path());
        chat = std::make_unique<ChatService>(engine, *storage, clock);
        chat->setModel(test::fakeModel());
    }
    void settle()
    {
        ASSERT_TRUE(storage->flush().get());
        chat->poll();
    }
    RequestId lastRequest() const { return engine.submitted.size(); }
    MessageId ask(std::string text) { return chat->send(std::move(text)).value(); }
    MessageId askAndAnswer(std::string text, std::vector<std::string> tokens)
    {
        const MessageId id = ask(std::move(text));
        chat->apply(finishedEvent(lastRequest(), tokens));
        return id;
    }
    std::vector<ChatMessage> sentMessages() const
    {
        return std::get<ChatPrompt>(engine.submitted.back().prompt).messages;
    }
    std::vector<std::string> visibleTexts() const
    {
        std::vector<std::string> texts;
        for (MessageId id : chat->visiblePath())
            texts.push_back(chat->node(id)->row.text);
        return texts;
    }
    ConversationId onlyConversation() const
    {
        const auto rows = chat->conversations();
        EXPECT_EQ(rows.size(), 1u);
        return rows.at(0).id;
    }

    test::TempFolder folder;
    test::FakeClock clock;
    test::FakeEngine engine;
    std::unique_ptr<Storage> storage;
    std::unique_ptr<ChatService> chat;
};

using Texts = std::vector<std::string>;

TEST_F(ChatServiceTest, AnAnswerGrowsTokenByTokenAndEndsWithItsMetrics)
{
    const MessageId answer = ask("Hello there");
    EXPECT_EQ(chat->answering(), answer);
    EXPECT_EQ(chat->node(answer)->row.state, MessageState::Streaming);
    chat->apply(tokenEvent(1, 0, "Hi", 0));
    chat->apply(tokenEvent(1, 1, " you", 2));
    EXPECT_EQ(chat->node(answer)->row.text, "Hi you");
    chat->apply(finishedEvent(1, {"Hi", " you", "!"}));

    const ChatNode* node = chat->node(answer);
    EXPECT_FALSE(chat->answering());
    EXPECT_EQ(node->row.text, "Hi you!");
    EXPECT_EQ(node->row.state, MessageState::Complete);
    EXPECT_EQ(node->row.modelName, "Fake 1M");
    ASSERT_TRUE(node->metrics);
    EXPECT_DOUBLE_EQ(node->metrics->ttftMs.value(), 10.0);
    EXPECT_EQ(node->metrics->outputTokens, 3);
    settle();
    EXPECT_EQ(chat->node(answer)->row.run, 1);
    const auto run = storage->run(1);
    EXPECT_EQ(run->promptText, "Hello there");
    EXPECT_EQ(run->outputText, "Hi you!");
    EXPECT_EQ(run->trace->tokens.size(), 3u);
}

TEST_F(ChatServiceTest, TheTitleIsTheFirstWordsOfTheFirstMessage)
{
    ask("\n  Why is the sky\nblue, and why are sunsets red?");
    EXPECT_EQ(chat->conversations().at(0).title, "Why is the sky");
}

TEST_F(ChatServiceTest, ALongTitleIsCutBetweenWordsOrCharacters)
{
    askAndAnswer("one two three four five six seven eight nine ten", {"x"});
    EXPECT_EQ(chat->conversations().at(0).title, "one two three four five six seven eight");
    chat->createConversation();
    std::string japanese;
    for (int i = 0; i < 40; ++i)
        japanese += "語";
    ask(japanese);
    EXPECT_EQ(chat->conversations().at(0).title, japanese.substr(0, 48));
}

TEST_F(ChatServiceTest, TheModelGetsSystemPromptAndAllTurns)
{
    chat->createConversation();
    chat->setSystemPrompt("Be brief.");
    askAndAnswer("one", {"eins"});
    ask("two");
    const auto messages = sentMessages();
    ASSERT_EQ(messages.size(), 4u);
    EXPECT_EQ(messages[0].role, "system");
    EXPECT_EQ(messages[0].content, "Be brief.");
    EXPECT_EQ(messages[2].role, "assistant");
    EXPECT_EQ(messages[2].content, "eins");
    EXPECT_EQ(messages[3].content, "two");
}

TEST_F(ChatServiceTest, AModelWithoutATemplateIsGivenPlainText)
{
    engine.text = test::textWithoutTemplate();
    const MessageId answer = askAndAnswer("The capital of France is", {" Paris."});
    ask("And of Italy?");
    EXPECT_EQ(std::get<TextPrompt>(engine.submitted.back().prompt).text,
              "The capital of France is Paris.\n\nAnd of Italy?");
    EXPECT_EQ(chat->node(answer)->row.text, " Paris.");
}

TEST_F(ChatServiceTest, RegenerateMakesASiblingThatIsShown)
{
    const MessageId first = askAndAnswer("Q", {"A1"});
    const MessageId second = chat->regenerate(first).value();
    chat->apply(finishedEvent(lastRequest(), {"A2"}));
    EXPECT_EQ(visibleTexts(), (Texts{"Q", "A2"}));
    EXPECT_EQ(chat->siblings(second).index, 1);
    EXPECT_EQ(chat->siblings(second).count, 2);
    EXPECT_EQ(sentMessages().size(), 1u) << "the first answer is not in the prompt of the second";

    chat->selectSibling(second, 0);
    EXPECT_EQ(visibleTexts(), (Texts{"Q", "A1"}));
    ask("more");
    EXPECT_EQ(sentMessages().at(1).content, "A1");
}

TEST_F(ChatServiceTest, EditMakesASiblingAndBothBranchesKeepTheirEnds)
{
    askAndAnswer("Q1", {"A1"});
    const MessageId question = chat->visiblePath().at(0);
    askAndAnswer("Q2", {"A2"});
    ASSERT_TRUE(chat->edit(question, "Q1 again"));
    chat->apply(finishedEvent(lastRequest(), {"B1"}));
    EXPECT_EQ(visibleTexts(), (Texts{"Q1 again", "B1"}));
    chat->selectSibling(chat->visiblePath().at(0), 0);
    EXPECT_EQ(visibleTexts(), (Texts{"Q1", "A1", "Q2", "A2"}));

    reopen();
    ASSERT_TRUE(chat->openConversation(onlyConversation()));
    EXPECT_EQ(visibleTexts(), (Texts{"Q1", "A1", "Q2", "A2"})) << "the branch shown last is shown again";
    chat->selectSibling(chat->visiblePath().at(0), 1);
    EXPECT_EQ(visibleTexts(), (Texts{"Q1 again", "B1"}));
}

TEST_F(ChatServiceTest, ContinueAppendsAndItsTokensPointIntoTheWholeText)
{
    const MessageId answer = ask("Count");
    chat->apply(finishedEvent(1, {"one, "}, StopReason::Length));
    ASSERT_TRUE(chat->continueAnswer(answer));
    const auto& prompt = std::get<ChatPrompt>(engine.submitted.back().prompt);
    EXPECT_TRUE(prompt.continueLast);
    EXPECT_EQ(prompt.messages.back().content, "one, ");
    chat->apply(tokenEvent(2, 0, "two", 0));
    EXPECT_EQ(chat->node(answer)->row.text, "one, two");
    EXPECT_EQ(chat->node(answer)->trace->tokens.at(0).textBegin, 5u);
    chat->apply(finishedEvent(2, {"two", "."}));
    EXPECT_EQ(chat->node(answer)->row.text, "one, two.");
    EXPECT_EQ(chat->node(answer)->trace->tokens.at(1).textEnd, 9u);

    settle();
    reopen();
    ASSERT_TRUE(chat->openConversation(onlyConversation()));
    EXPECT_EQ(chat->node(answer)->row.run, 2);
    EXPECT_EQ(chat->node(answer)->trace->tokens.at(1).textEnd, 9u) << "also when read back";
}

TEST_F(ChatServiceTest, OnlyTheLastAnswerCanBeContinued)
{
    const MessageId first = askAndAnswer("Q1", {"A1"});
    askAndAnswer("Q2", {"A2"});
    EXPECT_EQ(chat->continueAnswer(first).error().code, ErrorCode::BadInput);
    EXPECT_EQ(chat->continueAnswer(chat->visiblePath().at(0)).error().code, ErrorCode::BadInput);
}

TEST_F(ChatServiceTest, StopCancelsAndKeepsWhatWasWritten)
{
    const MessageId answer = ask("Go on");
    chat->apply(tokenEvent(1, 0, "half", 0));
    chat->stop();
    EXPECT_EQ(engine.cancelled, (std::vector<RequestId>{1}));
    chat->apply(finishedEvent(1, {"half"}, StopReason::Cancelled));
    EXPECT_EQ(chat->node(answer)->row.state, MessageState::Stopped);
    EXPECT_EQ(chat->node(answer)->row.text, "half");
}

TEST_F(ChatServiceTest, OneAnswerAtATime)
{
    const MessageId answer = ask("Q");
    EXPECT_EQ(chat->send("another").error().code, ErrorCode::Busy);
    EXPECT_EQ(chat->regenerate(answer).error().code, ErrorCode::Busy);
    EXPECT_EQ(chat->visiblePath().size(), 2u);
}

TEST_F(ChatServiceTest, WithoutAModelNothingIsAddedAndTheSentenceSaysSo)
{
    chat->setModel(std::nullopt);
    const auto answer = chat->send("Hello");
    EXPECT_EQ(answer.error().code, ErrorCode::Busy);
    EXPECT_NE(answer.error().message.find("no model"), std::string::npos);
    EXPECT_TRUE(chat->conversations().empty());
    chat->setModel(test::fakeModel());
    EXPECT_EQ(chat->send(" \n ").error().code, ErrorCode::BadInput);
}

TEST_F(ChatServiceTest, APromptThatDoesNotFitKeepsTheInputAndTheNextTurnLeavesItOut)
{
    const MessageId answer = ask("a very long text");
    chat->apply(finishedEvent(1, {}, StopReason::Error));
    EXPECT_EQ(chat->node(answer)->row.state, MessageState::Failed);
    EXPECT_NE(chat->node(answer)->row.errorText.find("900 tokens"), std::string::npos);
    EXPECT_EQ(visibleTexts(), (Texts{"a very long text", ""}));
    settle();
    EXPECT_TRUE(storage->runs()->empty()) << "nothing was measured";

    ask("short");
    ASSERT_EQ(sentMessages().size(), 1u);
    EXPECT_EQ(sentMessages().at(0).content, "short");
}

TEST_F(ChatServiceTest, AutosavesAtMostOnceASecondAndACrashLosesNoMore)
{
    const MessageId answer = ask("Q");
    chat->apply(tokenEvent(1, 0, "early", 0));
    settle();
    const ConversationId id = onlyConversation();
    EXPECT_EQ(storage->messages(id)->back().text, "") << "not once a token";
    clock.nowNs += 1'100'000'000;
    chat->apply(tokenEvent(1, 1, " late", 5));
    chat->apply(tokenEvent(1, 2, " lost", 10));
    settle();
    EXPECT_EQ(storage->messages(id)->back().text, "early late");

    // Another process looks at the database of one that is gone.
    const auto other = Storage::open(folder.path());
    ChatService afterCrash(engine, *other, clock);
    ASSERT_TRUE(afterCrash.openConversation(id));
    EXPECT_EQ(afterCrash.node(answer)->row.state, MessageState::Stopped);
    EXPECT_EQ(afterCrash.node(answer)->row.text, "early late");
}

TEST_F(ChatServiceTest, QuittingWhileItAnswersSavesWhatThereIs)
{
    const MessageId answer = ask("Q");
    chat->apply(tokenEvent(1, 0, "so far", 0));
    reopen();
    EXPECT_EQ(engine.cancelled, (std::vector<RequestId>{1}));
    ASSERT_TRUE(chat->openConversation(onlyConversation()));
    EXPECT_EQ(chat->node(answer)->row.text, "so far");
    EXPECT_EQ(chat->node(answer)->row.state, MessageState::Stopped);
}

TEST_F(ChatServiceTest, AnOldAnswerHasItsMetricsAndTokensAgain)
{
    chat->setCeilings(MeasuredCeilings{1e9, 1e9, 1e9});
    const MessageId answer = askAndAnswer("Q", {"a", "b", "c"});
    const auto before = chat->node(answer)->metrics;
    ASSERT_TRUE(before && before->mbu);
    settle();
    reopen();
    ASSERT_TRUE(chat->openConversation(onlyConversation()));
    const ChatNode* node = chat->node(answer);
    ASSERT_TRUE(node->metrics && node->trace);
    EXPECT_EQ(node->metrics->ttftMs, before->ttftMs);
    EXPECT_EQ(node->metrics->itlMs, before->itlMs);
    EXPECT_EQ(node->metrics->mbu, before->mbu);
    EXPECT_EQ(node->loadMs, 12.0);
    EXPECT_EQ(node->trace->tokens.at(2).id, 102);
}

TEST_F(ChatServiceTest, CeilingsMeasuredLaterReachTheAnswerAndItsRun)
{
    const MessageId answer = askAndAnswer("Q", {"a", "b", "c"});
    EXPECT_FALSE(chat->node(answer)->metrics->mbu);
    settle();
    chat->setCeilings(MeasuredCeilings{1e9, 1e9, 1e9});
    chat->setModelHash("models/fake.gguf", "c0ffee");
    ASSERT_TRUE(chat->node(answer)->metrics->mbu);
    settle();
    EXPECT_EQ(storage->run(1)->metricsJson.find("\"mbu\":null"), std::string::npos);
    EXPECT_EQ(storage->run(1)->modelSha256, "c0ffee");
}

TEST_F(ChatServiceTest, AnotherConversationCanBeOpenedWhileOneIsAnswered)
{
    const MessageId answer = ask("first");
    const ConversationId first = *chat->currentConversation();
    chat->createConversation();
    EXPECT_TRUE(chat->visiblePath().empty());
    chat->apply(tokenEvent(1, 0, "still", 0));
    chat->apply(finishedEvent(1, {"still", " here"}));
    ASSERT_TRUE(chat->openConversation(first));
    EXPECT_EQ(chat->node(answer)->row.text, "still here");
}

TEST_F(ChatServiceTest, ConversationsAreListedSearchedRenamedRemovedAndRestored)
{
    askAndAnswer("Tell me about Lisbon", {"A city."});
    const ConversationId lisbon = *chat->currentConversation();
    clock.nowNs += 5'000'000'000;
    chat->createConversation();
    askAndAnswer("Rice", {"Two cups of water."});
    const ConversationId rice = *chat->currentConversation();

    const auto ids = [&](std::string_view search) {
        std::vector<ConversationId> found;
        for (const auto& row : chat->conversations(search))
            found.push_back(row.id);
        return found;
    };
    using Ids = std::vector<ConversationId>;
    EXPECT_EQ(ids(""), (Ids{rice, lisbon}));
    EXPECT_EQ(ids("CITY lisbon"), (Ids{lisbon}));
    EXPECT_EQ(ids("water"), (Ids{rice}));
    chat->renameConversation(lisbon, "Portugal");
    EXPECT_EQ(ids("portu"), (Ids{lisbon}));
    chat->removeConversation(rice);
    EXPECT_EQ(ids(""), (Ids{lisbon}));
    EXPECT_FALSE(chat->currentConversation());
    chat->restoreConversation(rice);
    EXPECT_EQ(ids(""), (Ids{rice, lisbon}));

    reopen();
    EXPECT_EQ(ids("portugal"), (Ids{lisbon}));
    EXPECT_EQ(ids("rice"), (Ids{rice}));
}

TEST_F(ChatServiceTest, AnEmptyConversationIsNeitherSavedNorMadeTwice)
{
    const ConversationId id = chat->createConversation();
    EXPECT_EQ(chat->createConversation(), id);
    reopen();
    EXPECT_TRUE(chat->conversations().empty());
}

TEST_F(ChatServiceTest, WorksWithoutADatabaseForThisSession)
{
    chat.reset();
    std::ofstream(folder.path() / "a file") << "x";
    const auto none = Storage::open(folder.path() / "a file");
    ASSERT_EQ(none->state(), Storage::State::Unavailable);
    ChatService service(engine, *none, clock);
    service.setModel(test::fakeModel());
    const MessageId answer = service.send("Hello").value();
    service.apply(finishedEvent(1, {"Hi"}));
    service.poll();
    EXPECT_EQ(service.node(answer)->row.text, "Hi");
    EXPECT_EQ(service.conversations("hello").size(), 1u);
    EXPECT_TRUE(service.openConversation(service.conversations().at(0).id));
}

TEST_F(ChatServiceTest, TellsItsObserverWhatChanged)
{
    struct Recorder : ChatService::Observer {
        void conversationsChanged() override { log += "list "; }
        void pathChanged() override { log += "path "; }
        void messageChanged(MessageId) override { log += "message "; }
        void answerFinished(MessageId, std::optional<RunId>) override { log += "finished "; }
        std::string log;
    } recorder;
    chat->createConversation();
    chat->setObserver(&recorder);
    ask("Q");
    EXPECT_EQ(recorder.log, "list path ");
    recorder.log.clear();
    chat->apply(tokenEvent(1, 0, "x", 0));
    EXPECT_EQ(recorder.log, "message ");
    recorder.log.clear();
    chat->apply(finishedEvent(1, {"x"}));
    EXPECT_EQ(recorder.log, "message list finished ");
    recorder.log.clear();
    settle();
    EXPECT_EQ(recorder.log, "message ");
    chat->setObserver(nullptr);
}

}  // namespace
}  // namespace tokenscope
