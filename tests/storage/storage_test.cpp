#include "storage/storage.h"

#include "storage/database.h"
#include "storage/schema.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_data.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

namespace tokenscope {
namespace {

using test::TempFolder;

ConversationRow conversationRow(ConversationId id, std::string title)
{
    return {.id = id, .title = std::move(title), .createdMs = 1000, .updatedMs = 1000 + id};
}

MessageRow messageRow(MessageId id, ConversationId conversation, std::string text, std::optional<MessageId> parent = {})
{
    return {.id = id,
            .conversation = conversation,
            .parent = parent,
            .role = "user",
            .text = std::move(text),
            .createdMs = 5};
}

void settle(Storage& storage)
{
    const auto done = storage.flush().get();
    ASSERT_TRUE(done) << done.error().message;
}

std::vector<ConversationId> idsFound(Storage& storage, std::string_view search)
{
    std::vector<ConversationId> ids;
    const auto rows = storage.conversations(search);
    EXPECT_TRUE(rows) << rows.error().message;
    for (const auto& row : rows.value_or(std::vector<ConversationRow>{}))
        ids.push_back(row.id);
    return ids;
}

using Ids = std::vector<ConversationId>;

TEST(Storage, KeepsATreeOfMessagesOverAReopening)
{
    TempFolder folder;
    {
        const auto storage = Storage::open(folder.path());
        ASSERT_EQ(storage->state(), Storage::State::Ready) << storage->error().message;
        auto chat = conversationRow(7, "Bridges");
        chat.systemPrompt = "Be brief.";
        chat.activeLeaf = 12;
        storage->saveConversation(chat);
        storage->saveMessage(messageRow(10, 7, "Which one?"));
        storage->saveMessage(messageRow(11, 7, "The old one.", 10));
        auto other = messageRow(12, 7, std::string("The\0new one.", 12), 10);
        other.role = "assistant";
        other.state = MessageState::Failed;
        other.errorText = "it broke";
        other.modelName = "small";
        storage->saveMessage(other);
    }
    const auto storage = Storage::open(folder.path());
    const auto chats = storage->conversations();
    ASSERT_TRUE(chats);
    ASSERT_EQ(chats->size(), 1u);
    EXPECT_EQ(chats->front().title, "Bridges");
    EXPECT_EQ(chats->front().systemPrompt, "Be brief.");
    EXPECT_EQ(chats->front().activeLeaf, 12);
    const auto messages = storage->messages(7);
    ASSERT_TRUE(messages);
    ASSERT_EQ(messages->size(), 3u);
    EXPECT_FALSE(messages->at(0).parent);
    EXPECT_EQ(messages->at(1).parent, 10);
    EXPECT_EQ(messages->at(2).text, std::string("The\0new one.", 12));
    EXPECT_EQ(messages->at(2).state, MessageState::Failed);
    EXPECT_EQ(messages->at(2).errorText, "it broke");
    EXPECT_EQ(messages->at(2).modelName, "small");
}

TEST(Storage, ListsTheNewestConversationFirst)
{
    TempFolder folder;
    const auto storage = Storage::open(folder.path());
    storage->saveConversation(conversationRow(1, "first"));
    storage->saveConversation(conversationRow(3, "third"));
    storage->saveConversation(conversationRow(2, "second"));
    settle(*storage);
    EXPECT_EQ(idsFound(*storage, ""), (Ids{3, 2, 1}));
}

TEST(Storage, FindsPartsOfWordsInTitlesAndMessages)
{
    TempFolder folder;
    const auto storage = Storage::open(folder.path());
    storage->saveConversation(conversationRow(1, "Cooking Rice"));
    storage->saveMessage(messageRow(10, 1, "How much water? 100 % of it, \"say\" a_b"));
    storage->saveConversation(conversationRow(2, "Übersicht"));
    storage->saveMessage(messageRow(20, 2, "大規模言語モデル about waterfalls AND more"));
    settle(*storage);
    EXPECT_EQ(idsFound(*storage, "ATER"), (Ids{2, 1}));
    EXPECT_EQ(idsFound(*storage, "water rice"), (Ids{1}));
    EXPECT_EQ(idsFound(*storage, "言語モ"), (Ids{2}));
    EXPECT_EQ(idsFound(*storage, "言"), (Ids{2}));
    EXPECT_EQ(idsFound(*storage, "\"say\""), (Ids{1}));
    EXPECT_EQ(idsFound(*storage, "%"), (Ids{1}));
    EXPECT_EQ(idsFound(*storage, "a_"), (Ids{1}));
    EXPECT_EQ(idsFound(*storage, "AND OR NOT"), Ids{});
    EXPECT_EQ(idsFound(*storage, "water*"), Ids{});
    EXPECT_EQ(idsFound(*storage, "nothing"), Ids{});
}

TEST(Storage, TheSearchFollowsChangesOfTextAndTitle)
{
    TempFolder folder;
    const auto storage = Storage::open(folder.path());
    storage->saveConversation(conversationRow(1, "before"));
    auto answer = messageRow(10, 1, "half an answ");
    answer.state = MessageState::Streaming;
    storage->saveMessage(answer);
    settle(*storage);
    EXPECT_EQ(idsFound(*storage, "half"), Ids{}) << "an answer that is being written is not searched";

    answer.text = "a whole sentence";
    answer.state = MessageState::Complete;
    storage->saveMessage(answer);
    storage->saveConversation(conversationRow(1, "afterwards"));
    settle(*storage);
    EXPECT_EQ(idsFound(*storage, "sentence"), (Ids{1}));
    EXPECT_EQ(idsFound(*storage, "half"), Ids{});
    EXPECT_EQ(idsFound(*storage, "afterw"), (Ids{1}));
    EXPECT_EQ(idsFound(*storage, "before"), Ids{});
}

TEST(Storage, ARemovedConversationComesBackUntilTheNextOpening)
{
    TempFolder folder;
    {
        const auto storage = Storage::open(folder.path());
        for (ConversationId id : {1, 2}) {
            storage->saveConversation(conversationRow(id, "words"));
            storage->saveMessage(messageRow(id * 10, id, "text"));
            storage->removeConversation(id);
        }
        storage->restoreConversation(2);
        settle(*storage);
        EXPECT_EQ(idsFound(*storage, ""), (Ids{2}));
        EXPECT_EQ(storage->messages(1)->size(), 1u);
    }
    const auto storage = Storage::open(folder.path());
    EXPECT_EQ(idsFound(*storage, ""), (Ids{2}));
    EXPECT_TRUE(storage->messages(1)->empty());
    EXPECT_EQ(storage->messages(2)->size(), 1u);
    EXPECT_EQ(idsFound(*storage, "text"), (Ids{2}));
}

TEST(Storage, RemovesAConversationDeeperThanATriggerMayNest)
{
    TempFolder folder;
    {
        const auto storage = Storage::open(folder.path());
        std::vector<MessageRow> chain;
        for (int i = 1; i <= 3000; ++i)
            chain.push_back(messageRow(i, 1, "x", i > 1 ? std::optional<MessageId>(i - 1) : std::nullopt));
        storage->saveTree(conversationRow(1, "deep"), std::move(chain));
        storage->removeConversation(1);
        settle(*storage);
    }
    const auto storage = Storage::open(folder.path());
    ASSERT_EQ(storage->state(), Storage::State::Ready) << storage->error().message;
    EXPECT_TRUE(storage->messages(1)->empty());
}

TEST(Storage, ATreeWithAMissingParentIsNotSavedAtAll)
{
    TempFolder folder;
    const auto storage = Storage::open(folder.path());
    std::string told;
    storage->onWriteFailed([&](const Error& error) { told = error.message; });
    storage->saveTree(conversationRow(1, "half"), {messageRow(10, 1, "there"), messageRow(11, 1, "orphan", 999)});
    settle(*storage);
    EXPECT_NE(told.find("FOREIGN KEY"), std::string::npos) << told;
    EXPECT_TRUE(storage->conversations()->empty());
    EXPECT_TRUE(storage->messages(1)->empty());
}

RunRow runRow()
{
    RunRow row;
    row.kind = "chat";
    row.startedMs = 1234;
    row.modelName = "SmolLM2";
    row.modelPath = "models/a.gguf";
    row.configJson = R"({"threads":2})";
    row.environmentJson = R"({"cpu":"x"})";
    row.metricsJson = R"({"ttft_ms":12.5})";
    row.promptText = "Hello";
    row.outputText = "";
    row.promptIds = {1, 2, 3};
    row.outputIds = {70000, 5};
    RequestTrace trace;
    trace.submittedNs = 5;
    trace.tokens = {{.id = 70000, .committedNs = 10}, {.id = 5, .committedNs = 20}};
    trace.reason = StopReason::Eos;
    row.trace = trace;
    return row;
}

TEST(Storage, ARunComesBackWithTraceIdsAndTexts)
{
    TempFolder folder;
    const auto storage = Storage::open(folder.path());
    EXPECT_EQ(storage->lastRun().error().code, ErrorCode::BadInput);
    const auto first = storage->saveRun(runRow()).get();
    const auto second = storage->saveRun({.kind = "bench", .resultJson = "[]"}).get();
    ASSERT_TRUE(first && second);
    EXPECT_EQ(*first, 1);
    EXPECT_EQ(*second, 2);
    storage->setRunHash(*first, "abc");
    settle(*storage);
    EXPECT_EQ(storage->lastRun(), 2);

    const auto run = storage->run(1);
    ASSERT_TRUE(run) << run.error().message;
    EXPECT_EQ(run->kind, "chat");
    EXPECT_EQ(run->modelSha256, "abc");
    EXPECT_EQ(run->metricsJson, R"({"ttft_ms":12.5})");
    EXPECT_EQ(run->promptText, "Hello");
    EXPECT_EQ(run->outputText, "") << "empty is not absent";
    EXPECT_EQ(run->promptIds, (std::vector<TokenId>{1, 2, 3}));
    EXPECT_EQ(run->outputIds, (std::vector<TokenId>{70000, 5}));
    ASSERT_TRUE(run->trace);
    EXPECT_EQ(run->trace->tokens.at(0).id, 70000);
    EXPECT_EQ(run->trace->tokens.at(1).committedNs, 20);

    const auto bench = storage->run(2);
    EXPECT_FALSE(bench->trace);
    EXPECT_FALSE(bench->promptText);
    EXPECT_EQ(storage->runs()->front().id, 2);
    EXPECT_EQ(storage->runs(1)->size(), 1u);
    EXPECT_EQ(storage->run(99).error().code, ErrorCode::BadInput);
}

TEST(Storage, ErasingTheTextsOfARunLeavesNothingToReadThemFrom)
{
    TempFolder folder;
    const auto storage = Storage::open(folder.path());
    const RunId id = storage->saveRun(runRow()).get().value();
    storage->eraseRunTexts(id);
    settle(*storage);
    const auto run = storage->run(id);
    ASSERT_TRUE(run);
    EXPECT_FALSE(run->promptText);
    EXPECT_FALSE(run->outputText);
    EXPECT_TRUE(run->promptIds.empty());
    EXPECT_TRUE(run->outputIds.empty());
    ASSERT_EQ(run->trace->tokens.size(), 2u) << "the measurements stay";
    EXPECT_EQ(run->trace->tokens.at(0).id, 0);
    EXPECT_EQ(run->trace->tokens.at(0).committedNs, 10);
}

TEST(Storage, LinksARunToItsAnswerAndALaterSaveKeepsTheLink)
{
    TempFolder folder;
    const auto storage = Storage::open(folder.path());
    storage->saveConversation(conversationRow(1, "x"));
    auto answer = messageRow(10, 1, "answer");
    storage->saveMessage(answer);
    const RunId id = storage->saveRun(runRow(), 10).get().value();
    storage->saveMessage(answer);
    settle(*storage);
    EXPECT_EQ(storage->messages(1)->front().run, id);
}

TEST(Storage, RemovingAConversationErasesTheTextsOfItsRuns)
{
    TempFolder folder;
    {
        const auto storage = Storage::open(folder.path());
        storage->saveConversation(conversationRow(1, "x"));
        storage->saveMessage(messageRow(10, 1, "answer"));
        storage->saveRun(runRow(), 10).get().value();
        storage->removeConversation(1);
    }
    const auto storage = Storage::open(folder.path());
    EXPECT_FALSE(storage->run(1)->outputText);
    EXPECT_TRUE(storage->run(1)->trace);
}

TEST(Storage, AMessageOfAnotherConversationIsNeverOverwritten)
{
    TempFolder folder;
    const auto storage = Storage::open(folder.path());
    storage->saveConversation(conversationRow(1, "mine"));
    storage->saveConversation(conversationRow(2, "yours"));
    storage->saveMessage(messageRow(10, 1, "mine"));
    storage->saveMessage(messageRow(10, 2, "yours"));
    settle(*storage);
    EXPECT_EQ(storage->messages(1)->front().text, "mine");
}

TEST(Storage, TwoStoragesSeeEachOthersRows)
{
    TempFolder folder;
    const auto one = Storage::open(folder.path());
    const auto two = Storage::open(folder.path());
    one->saveConversation(conversationRow(1, "from one"));
    two->saveConversation(conversationRow(2, "from two"));
    settle(*one);
    settle(*two);
    EXPECT_EQ(idsFound(*one, ""), (Ids{2, 1}));
    EXPECT_EQ(idsFound(*two, ""), (Ids{2, 1}));
}

TEST(DrawId, GivesRisingIdsToEveryThread)
{
    std::vector<std::vector<MessageId>> drawn(4);
    std::vector<std::thread> threads;
    for (auto& ids : drawn)
        threads.emplace_back([&ids] {
            for (int i = 0; i < 2000; ++i)
                ids.push_back(drawId());
        });
    for (auto& thread : threads)
        thread.join();
    std::set<MessageId> all;
    for (const auto& ids : drawn) {
        EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
        all.insert(ids.begin(), ids.end());
    }
    EXPECT_EQ(all.size(), 8000u);
    EXPECT_GT(*all.begin(), 0);
}

}  // namespace
}  // namespace tokenscope
