// What a hostile afternoon with the command line found: options that were ignored, sentences that named nothing, a
// closed stderr that ended the program.
#include "tests/support/child_process.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_model.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>

namespace tokenscope {
namespace {

using nlohmann::json;

class Issue0003 : public testing::Test {
protected:
    test::ChildResult cli(const std::vector<std::string>& arguments, test::ChildOptions options = {})
    {
        options.environment["XDG_DATA_HOME"] = folder.file("data").string();
        options.environment["XDG_CACHE_HOME"] = folder.file("cache").string();
        return test::runChild(TOKENSCOPE_CLI, arguments, options);
    }
    std::string model()
    {
        const std::string path = folder.file("model.gguf").string();
        test::makeTestModel().write(path);
        return path;
    }
    std::string file(const std::string& name, const std::string& text)
    {
        std::ofstream(folder.file(name), std::ios::binary) << text;
        return folder.file(name).string();
    }
    void expectRefused(const std::vector<std::string>& arguments, const std::string& words)
    {
        const auto result = cli(arguments);
        EXPECT_EQ(result.exitCode, 2) << result.err;
        EXPECT_NE(result.err.find(words), std::string::npos) << result.err;
        EXPECT_EQ(result.out, "");
    }

    test::TempFolder folder;
};

TEST_F(Issue0003, UnknownCommandsAndOptionsAreRefusedByName)
{
    expectRefused({"frobnicate"}, "frobnicate: tokenscope-cli has no such command; see tokenscope-cli --help");
    expectRefused({"--frob"}, "--frob: tokenscope-cli has no such option");
    expectRefused({"runs", "frob"}, "frob: runs has no such command; see tokenscope-cli runs --help");
    expectRefused({"runs"}, "runs needs a command");
    expectRefused({"system", "--frob"}, "--frob: system has no such option; see tokenscope-cli system --help");
    expectRefused({"run", "m.gguf", "--Temp", "1"}, "--Temp: run has no such option");
    expectRefused({"run", "m.gguf", "more"}, "more: one argument too many for run");
    expectRefused({"runs", "show", "1", "--x"}, "--x: runs show has no such option");
}

TEST_F(Issue0003, AValueThatIsNoNumberIsNamedWithWhatWasExpected)
{
    expectRefused({"run", "m.gguf", "--top-logits", "x"}, "--top-logits x: expected a whole number");
    expectRefused({"bench", "m.gguf", "-p", "99999999999"}, "99999999999: expected a whole number of at most");
    expectRefused({"run", "m.gguf", "--save=maybe"}, "--save: is a switch");
}

TEST_F(Issue0003, WhatTheEngineRefusesIsNamedAsTheOptionItWas)
{
    expectRefused({"run", model(), "--prompt", "a", "--threads", "1000"}, "--threads 1000: expected 1 to");
    expectRefused({"run", model(), "--prompt", "a", "--kv-budget", "1"}, "--kv-budget 1: expected at least");
}

TEST_F(Issue0003, ATemplateFileThatIsMissingIsNeverIgnored)
{
    expectRefused({"run", model(), "--prompt", "a", "--template", folder.file("none.jinja").string()}, "none.jinja");
}

TEST_F(Issue0003, AnEmptyStopTextIsRefusedAndDropsNoOther)
{
    expectRefused({"run", model(), "--prompt", "a", "--stop", "b", "--stop", ""}, "--stop: an empty text");
}

TEST_F(Issue0003, AnEmptyModelPathSaysThatItIsEmpty)
{
    expectRefused({"inspect", ""}, "the path of the model is empty");
}

TEST_F(Issue0003, OnlyMessagesNeedAChatTemplate)
{
    const std::string path = model();
    const std::string words = "chat template";
    EXPECT_EQ(cli({"run", path, "--prompt", "a", "--max-tokens", "1"}).err.find(words), std::string::npos);
    const auto chat = cli({"run", path, "--prompt", "a", "--max-tokens", "1", "--chat"});
    const auto first = chat.err.find(words);
    ASSERT_NE(first, std::string::npos);
    EXPECT_EQ(chat.err.find(words, first + 1), std::string::npos) << "told once: " << chat.err;
}

TEST_F(Issue0003, AStderrThatCannotBeWrittenFailsNothing)
{
    const std::string command =
        std::string(TOKENSCOPE_CLI) + " run " + model() + " --ids 65 --max-tokens 2 --ignore-eos --json";
    for (const char* redirection : {" 2>&-", " 2>/dev/full"}) {
        const auto result = test::runChild("/bin/sh", {"-c", command + " --no-save" + redirection});
        EXPECT_EQ(result.exitCode, 0) << redirection;
        EXPECT_EQ(json::parse(result.out)["output_ids"].size(), 2u) << redirection;
    }
    const auto plain = test::runChild("/bin/sh", {"-c", std::string(TOKENSCOPE_CLI) + " run " + model() +
                                                            " --ids 65 --max-tokens 2 --no-save 2>/dev/full"});
    EXPECT_EQ(plain.exitCode, 0) << "the summary goes to stderr";
}

TEST_F(Issue0003, ClosedStandardStreamsAreNoPlaceForFiles)
{
    const std::string command = std::string(TOKENSCOPE_CLI) + " run " + model() +
                                " --ids 65 --max-tokens 2 --data-dir " + folder.file("data").string() + " >&- 2>&- <&-";
    EXPECT_EQ(test::runChild("/bin/sh", {"-c", command}).exitCode, 1) << "the answer went nowhere";
    const auto shown = cli({"runs", "show", "last", "--data-dir", folder.file("data").string()});
    EXPECT_EQ(shown.exitCode, 0) << shown.err;
}

TEST_F(Issue0003, AScriptedChatWithAFailedAnswerEndsWithOne)
{
    const std::string source = file("raise.jinja", "{{ raise_exception('no way') }}");
    test::ChildOptions input;
    input.input = "hello\n";
    const auto result = cli({"chat", model(), "--template", source, "--no-save"}, input);
    EXPECT_EQ(result.exitCode, 1);
    EXPECT_NE(result.err.find("no way"), std::string::npos) << result.err;
}

TEST_F(Issue0003, AnExportThatCannotBeWrittenSaysWhy)
{
    ASSERT_EQ(cli({"run", model(), "--ids", "65", "--max-tokens", "1"}).exitCode, 0);
    expectRefused({"runs", "export", "1", "--out", folder.file("no/such/folder").string()}, "No such file");
}

TEST_F(Issue0003, AClosedTerminalEndsAsAnInterruptDoes)
{
    const std::string command = std::string(TOKENSCOPE_CLI) + " chat " + model() +
                                " --no-save --quiet < <(sleep 5 2>/dev/null) & p=$!; sleep 1; kill -HUP $p; wait $p";
    EXPECT_EQ(test::runChild("/bin/bash", {"-c", command}).exitCode, 130);
}

TEST_F(Issue0003, ShowTellsTheResultOfABench)
{
    ASSERT_EQ(cli({"bench", model(), "-p", "8", "-n", "0", "-r", "1"}).exitCode, 0);
    const json shown = json::parse(cli({"runs", "show", "last", "--json"}).out);
    ASSERT_EQ(shown["result"].size(), 1u);
    EXPECT_EQ(shown["result"][0]["n_prompt"], 8);
}

}  // namespace
}  // namespace tokenscope
